import type * as z from "zod";
import { appError, fromProblem, type Problem, parseProblem } from "../errors.ts";
import { type Api, type CheckedRoute, type ParamOf, type Route, type Schema, urlOf } from "../routes/api.ts";
import type { Progress } from "../routes/local.ts";

type Field<Key extends string, Value, Given> = [Given] extends [never] ? unknown : { readonly [key in Key]: Value };

/** What a call of a route takes: values of its path, its query, its body. */
export type InputOf<R extends CheckedRoute> = Field<"params", Record<ParamOf<R["path"]>, string>, ParamOf<R["path"]>> &
  (R extends { readonly body: infer Schema extends z.ZodType } ? { readonly body: z.input<Schema> } : unknown) &
  (R extends { readonly query: infer Schema extends z.ZodType }
    ? { readonly query?: Partial<Record<keyof z.output<Schema>, string | number | undefined>> }
    : unknown) & {
    /** In place of `body`: what goes over the wire as it is. */
    readonly sent?: Sent;
  };

type Sent = string | Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array>;

/** What it answers: the document, each line of `lines`, the last one of `events`; undefined for a route that answers 204. */
export type AnswerOf<R extends CheckedRoute> = R extends { readonly answer: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : undefined;

type Listing<A extends Api> = {
  [Name in keyof A]: AnswerOf<A[Name]> extends { readonly items: readonly unknown[] } ? Name : never;
}[keyof A];
type ItemOf<R extends CheckedRoute> = AnswerOf<R> extends { readonly items: readonly (infer Item)[] } ? Item : never;
type InLines<A extends Api> = {
  [Name in keyof A]: A[Name] extends { readonly answers: "lines" } ? Name : never;
}[keyof A];

/** What the client needs of a `Response`. */
export interface Fetched {
  readonly status: number;
  text(): Promise<string>;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** What the client needs of `fetch`; the global one fits. Rejects when the connection cannot be made or breaks. */
export type FetchLike<Answer extends Fetched = Fetched, Body = string | Uint8Array<ArrayBuffer>> = (
  url: string,
  init: {
    method: string;
    headers: Record<string, string>;
    body?: Body;
    signal?: AbortSignal;
    onSent?: (bytes: number) => void;
  },
) => Promise<Answer>;

/** How an API is reached, and what its failures are called. */
export interface Transport<Answer extends Fetched = Fetched> {
  /** What goes before the path. */
  readonly url: string;
  // biome-ignore lint/suspicious/noExplicitAny: which bodies a transport takes depends on the routes of its API
  readonly fetch: FetchLike<Answer, any>;
  /** Asked before each request, because sessions are refreshed. */
  headers(): Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
  /** The error of a request that did not reach the API, or whose answer did not come back. */
  lost(route: Route, cause: unknown): Error;
  /** The error once the signal aborts; by default `interrupted`. */
  interrupted?(cause: unknown): Error;
  /** The error of an answer that this API never gives. */
  failed(route: Route, what: string, cause?: unknown): Error;
  /** The error of `events` that ended without a last line, where more than `failed` is to be said. */
  unfinished?(route: Route, params: Readonly<Record<string, string>>): Error;
  /** Checks a document where the API is not trusted. By default answers are taken as they are typed. */
  check?(schema: Schema, document: unknown): unknown;
  /** Lines end with the signal; by default they throw `interrupted`. */
  readonly ends_by_signal?: boolean;
  /** The longest line of an answer. */
  readonly most_line_length?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Makes a repeated request the same one, whatever became of the first. */
  readonly idempotency_key?: string;
  /** The version that is to be changed, as `etag` said it. */
  readonly if_match?: string;
  /** How many bytes of the body went out so far, where the transport counts them. */
  readonly onSent?: (bytes: number) => void;
  /** Headers that this call has in addition to those of the transport. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called for each `progress` line of `events`. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** An API as typed calls. */
export interface Client<A extends Api, Answer extends Fetched = Fetched> {
  /** The answer; of `events` what its last line brings. */
  call<Name extends keyof A & string>(
    name: Name,
    input: InputOf<A[Name]>,
    options?: CallOptions,
  ): Promise<AnswerOf<A[Name]>>;
  /** The answer as it was sent: rows hold numbers that `JSON.parse` would round. */
  text<Name extends keyof A & string>(name: Name, input: InputOf<A[Name]>, options?: CallOptions): Promise<string>;
  /** All items of a list, page by page. */
  each<Name extends Listing<A> & string>(
    name: Name,
    input: InputOf<A[Name]>,
    options?: CallOptions,
  ): AsyncIterable<ItemOf<A[Name]>>;
  /** A list as it grows, from behind the item `after`; ends with the signal. */
  follow<Name extends Listing<A> & string>(
    name: Name,
    input: InputOf<A[Name]>,
    after: string | undefined,
    signal: AbortSignal,
  ): AsyncIterable<ItemOf<A[Name]>>;
  /** An answer in lines as they come; ends with the answer, or with the signal. */
  lines<Name extends InLines<A> & string>(
    name: Name,
    input: InputOf<A[Name]>,
    signal: AbortSignal,
  ): AsyncIterable<AnswerOf<A[Name]>>;
  /** The lines of an answer of `events`, for the one that passes them on, once the API has taken the request. */
  events<Name extends keyof A & string>(
    name: Name,
    input: InputOf<A[Name]>,
    options?: CallOptions,
  ): Promise<AsyncIterable<object>>;
  /** The answer of status 2xx before anything of it is read. */
  open<Name extends keyof A & string>(name: Name, input: InputOf<A[Name]>, options?: CallOptions): Promise<Answer>;
}

interface AnyInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly sent?: Sent;
}

/** One line of an answer in `lines` or `events`. */
type Line = Progress | { readonly event: "done" } | { readonly event: "error"; readonly problem: Problem };

const NDJSON = { accept: "application/x-ndjson" };

/**
 * Makes a client of an API. `routes` are without schemas where the transport checks nothing.
 *
 * Every call may throw what the API answers (`fromProblem`), what the transport makes of a failure, interrupted with the signal.
 */
export function createClient<A extends Api, Answer extends Fetched = Fetched>(
  routes: { readonly [Name in keyof A]: Route },
  transport: Transport<Answer>,
): Client<A, Answer> {
  const routeOf = (name: keyof A) => routes[name] as CheckedRoute;

  async function open(route: CheckedRoute, input: AnyInput, options: CallOptions = {}): Promise<Answer> {
    const { idempotency_key: key, if_match: ifMatch, onSent, signal } = options;
    const body = input.sent ?? (input.body === undefined ? undefined : JSON.stringify(input.body));
    // a stream is passed on from a request, whose type is one of the headers of the call
    const hasType = body !== undefined && !(typeof body === "object" && Symbol.asyncIterator in body);
    const headers = {
      ...(await transport.headers()),
      ...(!hasType ? {} : { "content-type": route.streams ?? route.takes ?? "application/json" }),
      ...(key === undefined ? {} : { "idempotency-key": key }),
      ...(ifMatch === undefined ? {} : { "if-match": ifMatch }),
      ...options.headers,
    };
    const init = {
      method: route.method,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
      ...(onSent === undefined ? {} : { onSent }),
    };
    const url = transport.url + urlOf(route.path, input.params, input.query);
    const answer = await transport.fetch(url, init).catch((cause: unknown) => {
      throw lost(route, signal, cause);
    });
    if (answer.status >= 200 && answer.status < 300) return answer;
    const problem = parseProblem(await textOf(route, answer, signal));
    if (problem !== undefined) throw fromProblem(problem);
    throw transport.failed(route, `the answer has status ${answer.status} and is not a problem document`);
  }

  async function call(route: CheckedRoute, input: AnyInput, options: CallOptions = {}): Promise<unknown> {
    if (route.answers === "events") return await readEvents(route, input, options);
    const text = await textOf(route, await open(route, input, options), options.signal);
    if (text !== "") return check(route, parse(route, text));
    if (route.answer !== undefined && transport.check !== undefined)
      throw transport.failed(route, "the answer is empty");
    return undefined;
  }

  async function readEvents(route: CheckedRoute, input: AnyInput, options: CallOptions): Promise<unknown> {
    const answer = await open(route, input, { ...options, headers: NDJSON });
    for await (const line of jsonLines(route, answer, options.signal)) {
      if (line.event === "progress") options.onProgress?.(line);
      else if (line.event === "error") throw fromProblem(line.problem);
      else if (line.event === "done") {
        const { event: _event, ...result } = line;
        return check(route, result);
      }
    }
    const unfinished = transport.unfinished?.(route, input.params ?? {});
    throw unfinished ?? transport.failed(route, "the answer ended before the work did");
  }

  async function* readLines(route: CheckedRoute, input: AnyInput, signal: AbortSignal): AsyncGenerator<unknown> {
    const answer = await open(route, input, { signal, headers: NDJSON });
    try {
      for await (const line of jsonLines(route, answer, signal)) {
        if (line.event === "error") throw fromProblem(line.problem);
        if (line.event !== "done") yield line;
      }
    } catch (error) {
      if (!signal.aborted || transport.ends_by_signal !== true) throw error;
    }
  }

  async function* readEach(route: CheckedRoute, input: AnyInput, options: CallOptions = {}): AsyncGenerator<unknown> {
    let cursor: string | undefined;
    do {
      const query = { ...input.query, ...(cursor === undefined ? {} : { cursor }) };
      const page = (await call(route, { ...input, query }, options)) as { items: unknown[]; next: string | null };
      yield* page.items;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  }

  async function* readFeed(
    route: CheckedRoute,
    input: AnyInput,
    after: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<unknown> {
    const headers = { accept: "text/event-stream", ...(after === undefined ? {} : { "last-event-id": after }) };
    const answer = await open(route, input, { signal, headers });
    try {
      for await (const line of textLines(route, answer, signal)) {
        if (line.startsWith("data:")) yield parse(route, line.slice(5));
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async function* jsonLines(
    route: CheckedRoute,
    answer: Fetched,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Line> {
    for await (const line of textLines(route, answer, signal)) {
      if (line === "") continue;
      const document = parse(route, line);
      if (typeof document !== "object" || document === null) throw transport.failed(route, "a line is not an object");
      yield document as Line;
    }
  }

  /** Lines of an answer as they come, whole however they are cut. */
  async function* textLines(
    route: CheckedRoute,
    answer: Fetched,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<string> {
    const most = transport.most_line_length ?? Number.POSITIVE_INFINITY;
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for await (const piece of answer.body ?? []) {
        const text = decoder.decode(piece, { stream: true });
        const end = text.lastIndexOf("\n");
        if (end >= 0) yield* (rest + text.slice(0, end)).split("\n");
        rest = end < 0 ? rest + text : text.slice(end + 1);
        if (rest.length > most) throw new Error("A line of the answer is too long.");
      }
    } catch (cause) {
      throw lost(route, signal, cause);
    }
    if (rest !== "") yield rest;
  }

  async function textOf(route: CheckedRoute, answer: Fetched, signal: AbortSignal | undefined): Promise<string> {
    return await answer.text().catch((cause: unknown) => {
      throw lost(route, signal, cause);
    });
  }

  function lost(route: CheckedRoute, signal: AbortSignal | undefined, cause: unknown): Error {
    if (signal?.aborted !== true) return transport.lost(route, cause);
    return transport.interrupted?.(cause) ?? appError("interrupted", { detail: "The command was interrupted.", cause });
  }

  function parse(route: CheckedRoute, text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw transport.failed(route, "the answer is not JSON", cause);
    }
  }

  function check(route: CheckedRoute, document: unknown): unknown {
    if (route.answer === undefined || transport.check === undefined) return document;
    return transport.check(route.answer, document);
  }

  // The conditional types of Client say what the API's own table says; the compiler cannot follow that for any name.
  const client: Client<Record<string, CheckedRoute>, Answer> = {
    call: (name, input, options) => call(routeOf(name), input, options) as Promise<never>,
    text: async (name, input, options) =>
      await textOf(routeOf(name), await open(routeOf(name), input, options), options?.signal),
    each: (name, input, options) => readEach(routeOf(name), input, options) as AsyncIterable<never>,
    follow: (name, input, after, signal) => readFeed(routeOf(name), input, after, signal) as AsyncIterable<never>,
    lines: (name, input, signal) => readLines(routeOf(name), input, signal) as AsyncIterable<never>,
    events: async (name, input, options) => {
      const answer = await open(routeOf(name), input, { ...options, headers: NDJSON });
      return jsonLines(routeOf(name), answer, options?.signal);
    },
    open: (name, input, options) => open(routeOf(name), input, options),
  };
  return client as unknown as Client<A, Answer>;
}
