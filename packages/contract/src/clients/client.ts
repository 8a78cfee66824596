import type * as z from "zod";
import { appError, fromProblem, type Problem, parseProblem } from "../errors.ts";
import { type Api, type CheckedRoute, type ParamOf, type Route, type Schema, urlOf } from "../routes/api.ts";
import type { Progress } from "../routes/local.ts";
import { type Peer, versionMismatch } from "./version-mismatch.ts";

type Field<Key extends string, Value, Given> = [Given] extends [never] ? unknown : { readonly [key in Key]: Value };

/** The input of a call: values of the path, the query, the body. */
export type InputOf<R extends CheckedRoute> = Field<"params", Record<ParamOf<R["path"]>, string>, ParamOf<R["path"]>> &
  (R extends { readonly body: infer Schema extends z.ZodType } ? { readonly body: z.input<Schema> } : unknown) &
  (R extends { readonly query: infer Schema extends z.ZodType }
    ? { readonly query?: Partial<Record<keyof z.output<Schema>, string | number | undefined>> }
    : unknown) & {
    /** Replaces `body`: sent unchanged. */
    readonly sent?: Sent;
  };

type Sent = string | Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array>;

/** The result of a call: the document, each line of `lines`, or the last line of `events`. Undefined for a route
 *  that returns 204. */
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

/** The parts of a `Response` that the client needs. */
export interface Fetched {
  readonly status: number;
  text(): Promise<string>;
  readonly body: AsyncIterable<Uint8Array> | null;
  /** For the version of the API; without it, versions are not compared. */
  readonly headers?: { get(name: string): string | null };
}

/** The parts of `fetch` that the client needs; the global one fits. Rejects when the connection fails or breaks. */
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

/** The transport of an API, and the errors for its failures. */
export interface Transport<Answer extends Fetched = Fetched> {
  /** The prefix of the path. */
  readonly url: string;
  // biome-ignore lint/suspicious/noExplicitAny: which bodies a transport takes depends on the routes of its API
  readonly fetch: FetchLike<Answer, any>;
  /** Called before each request, because sessions are refreshed. */
  headers(): Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
  /** The error of a request that did not reach the API, or whose response did not arrive or (`hasBegun`) broke. */
  lost(route: Route, cause: unknown, hasBegun: boolean, params: Readonly<Record<string, string>>): Error;
  /** The error after the signal aborts; by default `interrupted`. */
  interrupted?(cause: unknown): Error;
  /** The error of a response that this API never sends. */
  failed(route: Route, what: string, cause?: unknown): Error;
  /** The error of `events` that ended or broke without a last line, where `failed` and `lost` are not enough. */
  unfinished?(route: Route, params: Readonly<Record<string, string>>, cause?: unknown): Error;
  /** The error of a refusal, where `fromProblem` is not enough. */
  refused?(route: Route, problem: Problem): Error | undefined;
  /** The program behind the API, which may have another version. Missing for programs of one installation. */
  readonly peer?: Peer;
  /** Checks a document if the API is not trusted. By default responses are not checked. */
  check?(schema: Schema, document: unknown): unknown;
  /** Lines end with the signal. By default they throw `interrupted`. */
  readonly ends_by_signal?: boolean;
  /** Maximum length of a line in a response. */
  readonly most_line_length?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Makes a request safe to retry, whatever happened to the first attempt. */
  readonly idempotency_key?: string;
  /** The version to change, from `etag`. */
  readonly if_match?: string;
  /** Bytes of the body sent so far, if the transport counts them. */
  readonly onSent?: (bytes: number) => void;
  /** Headers of this call in addition to those of the transport. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called for each `progress` line of `events`. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** An API as typed calls. */
export interface Client<A extends Api, Answer extends Fetched = Fetched> {
  /** Returns the response; for `events`, the content of the last line. */
  call<Name extends keyof A & string>(
    name: Name,
    input: InputOf<A[Name]>,
    options?: CallOptions,
  ): Promise<AnswerOf<A[Name]>>;
  /** Returns the response text: rows can hold numbers that `JSON.parse` would round. */
  text<Name extends keyof A & string>(name: Name, input: InputOf<A[Name]>, options?: CallOptions): Promise<string>;
  /** Yields all items of a list, page by page. */
  each<Name extends Listing<A> & string>(
    name: Name,
    input: InputOf<A[Name]>,
    options?: CallOptions,
  ): AsyncIterable<ItemOf<A[Name]>>;
  /** Follows a growing list after the item `after`; ends with the signal. */
  follow<Name extends Listing<A> & string>(
    name: Name,
    input: InputOf<A[Name]>,
    after: string | undefined,
    signal: AbortSignal,
  ): AsyncIterable<ItemOf<A[Name]>>;
  /** Yields the lines of a response; ends with the response, or with the signal. */
  lines<Name extends InLines<A> & string>(
    name: Name,
    input: InputOf<A[Name]>,
    signal: AbortSignal,
  ): AsyncIterable<AnswerOf<A[Name]>>;
  /** Yields the lines of `events` for forwarding, after the API has accepted the request. */
  events<Name extends keyof A & string>(
    name: Name,
    input: InputOf<A[Name]>,
    options?: CallOptions,
  ): Promise<AsyncIterable<object>>;
  /** Returns the 2xx response before its body is read. */
  open<Name extends keyof A & string>(name: Name, input: InputOf<A[Name]>, options?: CallOptions): Promise<Answer>;
}

interface AnyInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly sent?: Sent;
}

/** One line of a response in `lines` or `events`. */
type Line = Progress | { readonly event: "done" } | { readonly event: "error"; readonly problem: Problem };

const NDJSON = { accept: "application/x-ndjson" };

/**
 * Makes a client of an API. `routes` have no schemas if the transport checks nothing.
 * Every call may throw the API's error (`fromProblem`), an error of the transport, or interrupted with the signal.
 */
export function createClient<A extends Api, Answer extends Fetched = Fetched>(
  routes: { readonly [Name in keyof A]: Route },
  transport: Transport<Answer>,
): Client<A, Answer> {
  const routeOf = (name: keyof A) => routes[name] as CheckedRoute;

  async function open(route: CheckedRoute, input: AnyInput, options: CallOptions = {}): Promise<Answer> {
    const { idempotency_key: key, if_match: ifMatch, onSent, signal } = options;
    const body = input.sent ?? (input.body === undefined ? undefined : JSON.stringify(input.body));
    // A forwarded stream has its type in the headers of the call.
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
      throw lost(route, signal, cause, input.params, false);
    });
    if (answer.status >= 200 && answer.status < 300) return answer;
    const problem = parseProblem(await textOf(route, answer, signal, input.params));
    if (problem !== undefined) {
      const { peer } = transport;
      const request = `${route.method} ${route.path}`;
      throw (
        (peer && versionMismatch(peer, answer, problem, request)) ??
        transport.refused?.(route, problem) ??
        fromProblem(problem)
      );
    }
    throw transport.failed(route, `the response has status ${answer.status} and is not a problem document`);
  }

  async function call(route: CheckedRoute, input: AnyInput, options: CallOptions = {}): Promise<unknown> {
    if (route.answers === "events") return await readEvents(route, input, options);
    const text = await textOf(route, await open(route, input, options), options.signal, input.params);
    if (text !== "") return check(route, parse(route, text));
    if (route.answer !== undefined && transport.check !== undefined)
      throw transport.failed(route, "the response is empty");
    return undefined;
  }

  async function readEvents(route: CheckedRoute, input: AnyInput, options: CallOptions): Promise<unknown> {
    const { signal } = options;
    const answer = await open(route, input, { ...options, headers: NDJSON });
    const broken = (cause: unknown) => {
      const unfinished =
        signal?.aborted === true ? undefined : transport.unfinished?.(route, input.params ?? {}, cause);
      return unfinished ?? lost(route, signal, cause, input.params);
    };
    for await (const line of jsonLines(route, answer, signal, broken)) {
      if (line.event === "progress") options.onProgress?.(line);
      else if (line.event === "error") throw fromProblem(line.problem);
      else if (line.event === "done") {
        const { event: _event, ...result } = line;
        return check(route, result);
      }
    }
    const unfinished = transport.unfinished?.(route, input.params ?? {});
    throw unfinished ?? transport.failed(route, "the response ended before the work did");
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
    broken?: (cause: unknown) => Error,
  ): AsyncGenerator<Line> {
    for await (const line of textLines(route, answer, signal, broken)) {
      if (line === "") continue;
      const document = parse(route, line);
      if (typeof document !== "object" || document === null) throw transport.failed(route, "a line is not an object");
      yield document as Line;
    }
  }

  /** Yields whole lines of a response, however the network splits them. */
  async function* textLines(
    route: CheckedRoute,
    answer: Fetched,
    signal: AbortSignal | undefined,
    broken = (cause: unknown) => lost(route, signal, cause),
  ): AsyncGenerator<string> {
    const max = transport.most_line_length ?? Number.POSITIVE_INFINITY;
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for await (const piece of answer.body ?? []) {
        const text = decoder.decode(piece, { stream: true });
        const end = text.lastIndexOf("\n");
        if (end >= 0) yield* (rest + text.slice(0, end)).split("\n");
        rest = end < 0 ? rest + text : text.slice(end + 1);
        if (rest.length > max) throw new Error("A line of the response is too long.");
      }
    } catch (cause) {
      throw broken(cause);
    }
    if (rest !== "") yield rest;
  }

  async function textOf(
    route: CheckedRoute,
    answer: Fetched,
    signal: AbortSignal | undefined,
    params: AnyInput["params"],
  ): Promise<string> {
    return await answer.text().catch((cause: unknown) => {
      throw lost(route, signal, cause, params);
    });
  }

  function lost(
    route: CheckedRoute,
    signal: AbortSignal | undefined,
    cause: unknown,
    params: AnyInput["params"] = {},
    hasBegun = true,
  ): Error {
    if (signal?.aborted !== true) return transport.lost(route, cause, hasBegun, params);
    return transport.interrupted?.(cause) ?? appError("interrupted", { detail: "The command was interrupted.", cause });
  }

  function parse(route: CheckedRoute, text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw transport.failed(route, "the response is not JSON", cause);
    }
  }

  function check(route: CheckedRoute, document: unknown): unknown {
    if (route.answer === undefined || transport.check === undefined) return document;
    return transport.check(route.answer, document);
  }

  // The conditional types of Client match the API's table; the compiler cannot verify that for an arbitrary name.
  const client: Client<Record<string, CheckedRoute>, Answer> = {
    call: (name, input, options) => call(routeOf(name), input, options) as Promise<never>,
    text: async (name, input: AnyInput, options) =>
      await textOf(routeOf(name), await open(routeOf(name), input, options), options?.signal, input.params),
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
