import type * as z from "zod";
import { appError, fromProblem, isErrorCode, type Problem, parseProblem } from "../errors.ts";
import type { RecomputeResult } from "../jobs.ts";
import type { SchemaPlan } from "../plan.ts";
import type { AuditEvent } from "../routes/control.ts";
import type { LogLine } from "../routes/control-databases.ts";
import { CONTROL_ROUTES, type ControlRouteName } from "../routes/control-paths.ts";
import type { CONTROL_BODIES } from "../routes/control-schemas.ts";
import type { Progress } from "../routes/local.ts";
import { CLIENT_VERSION_HEADER, VERSION } from "../version.ts";

type Bodies = typeof CONTROL_BODIES;
type PathOf<Name extends ControlRouteName> = (typeof CONTROL_ROUTES)[Name]["path"];
type ParamOf<Path extends string> = Path extends `${string}:${infer Param}/${infer Rest}`
  ? Param | ParamOf<Rest>
  : Path extends `${string}:${infer Param}`
    ? Param
    : never;

/** What a call of a route takes: values of its path, its query, its body. */
export type CallInput<Name extends ControlRouteName> = Field<
  "params",
  Record<ParamOf<PathOf<Name>>, string>,
  ParamOf<PathOf<Name>>
> &
  (Bodies[Name] extends { readonly body: infer Schema extends z.ZodType }
    ? { readonly body: z.input<Schema> }
    : unknown) &
  (Bodies[Name] extends { readonly query: infer Schema extends z.ZodType }
    ? { readonly query?: Partial<Record<keyof z.output<Schema>, string | number | undefined>> }
    : unknown);
type Field<Key extends string, Value, Given> = [Given] extends [never] ? unknown : { readonly [key in Key]: Value };

/** What it answers; undefined for a route that answers 204. */
export type CallAnswer<Name extends ControlRouteName> = Bodies[Name] extends {
  readonly answer: infer Schema extends z.ZodType;
}
  ? z.output<Schema>
  : undefined;

type ListName = {
  [Name in ControlRouteName]: CallAnswer<Name> extends { readonly items: readonly unknown[] } ? Name : never;
}[ControlRouteName];
type ItemOf<Name extends ListName> =
  CallAnswer<Name> extends { readonly items: readonly (infer Item)[] } ? Item : never;

/** What the client needs of `fetch`; the global one fits. */
export type ControlFetch = (
  url: string,
  init: {
    method: string;
    headers: Record<string, string>;
    body?: string | Uint8Array<ArrayBuffer>;
    signal?: AbortSignal;
    onSent?: (bytes: number) => void;
  },
) => Promise<{ readonly status: number; text(): Promise<string>; readonly body: AsyncIterable<Uint8Array> | null }>;

export interface ControlClientOptions {
  /** Without a slash at its end; empty for a page that the server itself serves. */
  readonly url: string;
  /** Where the address was set, for the error of a server that does not answer: `SERVICE_API_URL`. */
  readonly url_source: string;
  /** `X-api-key` or `authorization`; asked before each request, because sessions are refreshed. */
  readonly credential: () => Promise<Readonly<Record<string, string>>>;
  readonly fetch?: ControlFetch;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Makes a repeated request the same one, whatever became of the first. */
  readonly idempotency_key?: string;
  /** The version that is to be changed, as `etag` said it. */
  readonly if_match?: string;
  /** How many bytes of the body went out so far, where the caller's `fetch` tells it. */
  readonly onSent?: (bytes: number) => void;
}

/** The control plane's API as typed calls; what a route takes and answers is in routes/control-schemas.ts. */
export interface ControlClient {
  call<Name extends ControlRouteName>(
    name: Name,
    input: CallInput<Name>,
    options?: CallOptions,
  ): Promise<CallAnswer<Name>>;
  /** The answer as it was sent: rows hold numbers that `JSON.parse` would round. `sent` is a body that goes as it is. */
  text<Name extends ControlRouteName>(name: Name, input: TextInput<Name>, options?: CallOptions): Promise<string>;
  /** All items of a list, page by page. */
  each<Name extends ListName>(name: Name, input: CallInput<Name>, options?: CallOptions): AsyncIterable<ItemOf<Name>>;
  /** The audit log as it grows, from behind the event `after`; ends with the signal. */
  follow(org: string, after: string | undefined, signal: AbortSignal): AsyncIterable<AuditEvent>;
  /** An answer in lines as they come; ends with the answer, or with the signal. */
  lines<Name extends LinesName>(
    name: Name,
    input: CallInput<Name>,
    signal: AbortSignal,
  ): AsyncIterable<LineTypes[Name]>;
  /** Sends blobs as an archive of tar, each under its digest. What was stored before a connection broke stays. */
  upload(org: string, tar: Uint8Array<ArrayBuffer>, options?: CallOptions): Promise<CallAnswer<"blobUpload">>;
}

type TextInput<Name extends ControlRouteName> = Omit<CallInput<Name>, "body"> & { readonly sent?: string };

interface LineTypes {
  readonly databaseLogs: LogLine;
  readonly operationLog: LogLine;
  readonly serviceLogs: LogLine;
  /** The last one is `done` or `error`. */
  readonly schemaApply:
    | Progress
    | { readonly event: "done"; readonly plan: SchemaPlan }
    | { readonly event: "error"; readonly problem: Problem };
  readonly recompute:
    | Progress
    | { readonly event: "done"; readonly result: RecomputeResult }
    | { readonly event: "error"; readonly problem: Problem };
}
type LinesName = keyof LineTypes;

/**
 * Makes a client of the control plane. Answers are taken as they are typed: the server checks what it sends, and schemas
 * here would cost the command a quarter of its start.
 *
 * Every call may throw what the server answers (`fromProblem`), server_unreachable when nothing listens at the address,
 * server_failed when the answer is none of a control plane, interrupted with the signal.
 */
export function createControlClient(options: ControlClientOptions): ControlClient {
  const call: ControlClient["call"] = (name, input, given = {}) => answerOf(options, name, input as AnyInput, given);
  return {
    call,
    text: (name, input, given) => textOf(options, name, input as AnyInput, given ?? {}),
    each: (name, input, given) => eachItem(options, name, input as AnyInput, given ?? {}) as AsyncIterable<never>,
    follow: (org, after, signal) => followEvents(options, org, after, signal) as AsyncIterable<AuditEvent>,
    lines: (name, input, signal) => readLines(options, name, input as AnyInput, signal) as AsyncIterable<never>,
    upload: (org, tar, given) => answerOf(options, "blobUpload", { params: { org }, tar }, given ?? {}),
  };
}

interface AnyInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** Instead of `body`: JSON as it goes over the wire. */
  readonly sent?: string;
  readonly tar?: Uint8Array<ArrayBuffer>;
}

async function answerOf<T>(
  options: ControlClientOptions,
  name: ControlRouteName,
  input: AnyInput,
  given: CallOptions,
): Promise<T> {
  const text = await textOf(options, name, input, given);
  return (text === "" ? undefined : parse(options, name, text)) as T;
}

async function textOf(
  options: ControlClientOptions,
  name: ControlRouteName,
  input: AnyInput,
  given: CallOptions,
): Promise<string> {
  const response = await send(options, name, input, given, {});
  return await response.text().catch((cause: unknown) => {
    throw lost(options, name, given.signal, cause);
  });
}

async function* eachItem(
  options: ControlClientOptions,
  name: ControlRouteName,
  input: AnyInput,
  given: CallOptions,
): AsyncGenerator<unknown> {
  let cursor: string | undefined;
  do {
    const query = { ...input.query, ...(cursor === undefined ? {} : { cursor }) };
    const page: { items: unknown[]; next: string | null } = await answerOf(options, name, { ...input, query }, given);
    yield* page.items;
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
}

async function* followEvents(
  options: ControlClientOptions,
  org: string,
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<unknown> {
  const headers = { accept: "text/event-stream", ...(after === undefined ? {} : { "last-event-id": after }) };
  for await (const line of textLines(options, "eventList", { params: { org } }, signal, headers))
    if (line.startsWith("data:")) yield parse(options, "eventList", line.slice(5));
}

async function* readLines(
  options: ControlClientOptions,
  name: ControlRouteName,
  input: AnyInput,
  signal: AbortSignal,
): AsyncGenerator<unknown> {
  for await (const line of textLines(options, name, input, signal, { accept: "application/x-ndjson" }))
    if (line !== "") yield parse(options, name, line);
}

/** Lines of an answer as they come; one that was cut off is left out. */
async function* textLines(
  options: ControlClientOptions,
  name: ControlRouteName,
  input: AnyInput,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>>,
): AsyncGenerator<string> {
  const response = await send(options, name, input, { signal }, headers);
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const piece of response.body ?? []) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } catch (cause) {
    if (!signal.aborted) throw lost(options, name, signal, cause);
  }
}

async function send(
  options: ControlClientOptions,
  name: ControlRouteName,
  input: AnyInput,
  given: CallOptions,
  more: Readonly<Record<string, string>>,
) {
  const request: ControlFetch = options.fetch ?? fetch;
  const route = CONTROL_ROUTES[name];
  const body = input.tar ?? input.sent ?? (input.body === undefined ? undefined : JSON.stringify(input.body));
  const headers: Record<string, string> = {
    [CLIENT_VERSION_HEADER]: VERSION,
    ...(await options.credential()),
    ...(body === undefined
      ? {}
      : { "content-type": input.tar === undefined ? "application/json" : "application/x-tar" }),
    ...(given.idempotency_key === undefined ? {} : { "idempotency-key": given.idempotency_key }),
    ...(given.if_match === undefined ? {} : { "if-match": given.if_match }),
    ...more,
  };
  const init = {
    method: route.method,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(given.signal === undefined ? {} : { signal: given.signal }),
    ...(given.onSent === undefined ? {} : { onSent: given.onSent }),
  };
  const url = options.url + pathOf(route.path, input.params ?? {}) + queryOf(input.query ?? {});
  const response = await request(url, init).catch((cause: unknown) => {
    throw lost(options, name, given.signal, cause);
  });
  if (response.status >= 200 && response.status < 300) return response;
  throw readProblem(options, name, response.status, await response.text().catch(() => ""));
}

function pathOf(path: string, params: Readonly<Record<string, string>>): string {
  return path.replaceAll(/:([a-z]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
}

function queryOf(query: Readonly<Record<string, string | number | undefined>>): string {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) given.set(key, String(value));
  return given.size === 0 ? "" : `?${given}`;
}

function parse(options: ControlClientOptions, name: ControlRouteName, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw failed(options, name, "the answer is not JSON", cause);
  }
}

function readProblem(options: ControlClientOptions, name: ControlRouteName, status: number, text: string): Error {
  const problem = parseProblem(text);
  if (problem !== undefined && isErrorCode(problem.code)) return fromProblem(problem);
  return failed(options, name, `the answer has status ${status} and is not a problem document`);
}

/** The request did not reach the server, or its answer did not come back. */
function lost(
  options: ControlClientOptions,
  name: ControlRouteName,
  signal: AbortSignal | undefined,
  cause: unknown,
): Error {
  if (signal?.aborted) return appError("interrupted", { detail: "The command was interrupted.", cause });
  const { method, path } = CONTROL_ROUTES[name];
  return appError("server_unreachable", {
    detail: `No server responds at ${options.url || "this address"} (from ${options.url_source})${reasonOf(cause)}.`,
    hint: "Start it with npm start in its checkout, or use another server: cli login --server https://...",
    meta: { url: options.url, source: options.url_source, request: `${method} ${path}` },
    cause,
  });
}

/** What the system says; a refused connection says no more than that nobody answers. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error) || !("code" in cause) || cause.code === "ECONNREFUSED") return "";
  return `: ${cause.message}`;
}

function failed(options: ControlClientOptions, name: ControlRouteName, what: string, cause?: unknown): Error {
  const { method, path } = CONTROL_ROUTES[name];
  return appError("server_failed", {
    detail: `${options.url || "The server"} did not finish ${method} ${path}: ${what}.`,
    hint: `Check that it is the address of the control plane. It came from ${options.url_source}.`,
    meta: { url: options.url, source: options.url_source },
    cause,
  });
}
