import { appError, fromProblem, type Problem, parseProblem } from "../errors.ts";
import type { JobRecord, OnError, RecomputePlan, RecomputeResult, TableErrors } from "../jobs.ts";
import type { SchemaPlan, ServicePlan } from "../plan.ts";
import type {
  App,
  Health,
  LocalDatabase,
  LocalDeletion,
  OpenTarget,
  Progress,
  QueryExplainRequest,
  QueryExplanation,
  RecomputePlanRequest,
  RecomputeRequest,
  ServiceRecord,
} from "../routes/local.ts";
import { LOCAL_ROUTES } from "../routes/local-paths.ts";
import { CLIENT_VERSION_HEADER, VERSION } from "../version.ts";

/** What the client needs of `fetch`; the global one fits. Rejects when the connection cannot be made or breaks. */
export type FetchLike = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string; signal?: AbortSignal },
) => Promise<FetchedResponse>;

export interface FetchedResponse {
  readonly status: number;
  readonly body: AsyncIterable<Uint8Array> | null;
}

export interface LocalClientOptions {
  readonly port: number;
  /** The home's token; only its owner can read it. */
  readonly token: string;
  readonly fetch?: FetchLike;
}

interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

interface EventOptions extends CallOptions {
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface SchemaPlanRequest extends Pick<App, "target" | "manifest"> {
  /** With it the plan shows what columns that would be recomputed become. */
  readonly runtime?: App["runtime"] | null;
  readonly recompute?: boolean;
  /** As for an update. */
  readonly take_over?: boolean;
}
export type SchemaApply = App & {
  readonly catalog_version: number;
  readonly allow_destructive: boolean;
  readonly recompute?: boolean;
  readonly on_error?: OnError;
  /** Also change tables of another project, which become this project's. */
  readonly take_over?: boolean;
};
export interface SchemaPrune extends Pick<App, "target" | "manifest"> {
  /** Folder of the caller's project: tables of other projects stay. */
  readonly project_root: string;
  /** The version for which the drops were shown; null only shows them. */
  readonly catalog_version: number | null;
}
export interface ErrorsRequest {
  readonly target: string;
  /** All tables of the target when it is left out; counts alone then. */
  readonly table?: string | undefined;
  readonly column?: string | undefined;
  readonly limit: number;
}
export type ServicePlanRequest = App & { readonly service: string | null; readonly port: number | null };
export type ServiceApply = ServicePlanRequest & { readonly allow_destructive: boolean };

/** The local daemon's API as typed calls. */
export interface LocalClient {
  health(options?: CallOptions): Promise<Health>;
  schemaPlan(request: SchemaPlanRequest, options?: CallOptions): Promise<SchemaPlan>;
  /** Resolves with the plan as it is after the update. */
  schemaApply(request: SchemaApply, options?: EventOptions): Promise<SchemaPlan>;
  /** Resolves with the plan whose `ops` are the drops. */
  schemaPrune(request: SchemaPrune, options?: CallOptions): Promise<SchemaPlan>;
  queryExplain(request: QueryExplainRequest, options?: CallOptions): Promise<QueryExplanation>;
  openTarget(request: App, options?: CallOptions): Promise<OpenTarget>;
  servicePlan(request: ServicePlanRequest, options?: CallOptions): Promise<ServicePlan>;
  serviceApply(request: ServiceApply, options?: EventOptions): Promise<ServicePlan>;
  servicePrune(request: App & { readonly dry_run: boolean }, options?: CallOptions): Promise<ServicePlan>;
  recomputePlan(request: RecomputePlanRequest, options?: CallOptions): Promise<RecomputePlan>;
  /** Resolves when all rows are done; when the signal aborts the job goes on. */
  recompute(request: RecomputeRequest, options?: EventOptions): Promise<RecomputeResult>;
  errors(request: ErrorsRequest, options?: CallOptions): Promise<TableErrors[]>;
  jobList(request: { target: string; all: boolean }, options?: CallOptions): Promise<JobRecord[]>;
  jobCancel(request: { target: string; id: string }, options?: CallOptions): Promise<{ id: string }>;
  /** Services of one target, of every target when it is undefined. */
  serviceList(target: string | undefined, options?: CallOptions): Promise<ServiceRecord[]>;
  serviceRestart(name: string, options?: CallOptions): Promise<ServiceRecord>;
  serviceStop(name: string, options?: CallOptions): Promise<ServiceRecord>;
  /** Lines of a service's log, the last `tail` first; ends at once, or with the signal when `follow` is set. */
  serviceLogs(request: { name: string; tail: number; follow: boolean }, options?: CallOptions): AsyncIterable<string>;
  databaseList(options?: CallOptions): Promise<LocalDatabase[]>;
  /** A dry run only says what would go. */
  databaseDelete(request: { name: string; dry_run: boolean }, options?: CallOptions): Promise<LocalDeletion>;
  /** Ends the daemon, its services and its PostgreSQL; answers before it is gone. */
  stop(options?: CallOptions): Promise<void>;
}

/**
 * Makes a client of the daemon on 127.0.0.1:`port`. Each call carries token and version. Answers are taken as they are
 * typed: the daemon is started by this very version, and what it says was checked by its compiler; loading schemas here
 * would cost the command a quarter of its start.
 *
 * Every call may throw what the daemon answers (`fromProblem`), daemon_not_running when nothing listens, daemon_failed when
 * the connection broke during the call or the answer is none of a daemon.
 */
export function createLocalClient(options: LocalClientOptions): LocalClient {
  const call = <T>(route: Route, body: unknown, given: CallOptions = {}, query = "") =>
    readJson<T>(options, route, query, body, given.signal);
  return {
    health: (given) => call<Health>(LOCAL_ROUTES.health, undefined, given),
    schemaPlan: async (request, given) =>
      (await call<{ plan: SchemaPlan }>(LOCAL_ROUTES.schemaPlan, request, given)).plan,
    schemaApply: async (request, given) =>
      (await readEvents<{ plan: SchemaPlan }>(options, LOCAL_ROUTES.schemaApply, request, given)).plan,
    schemaPrune: async (request, given) =>
      (await call<{ plan: SchemaPlan }>(LOCAL_ROUTES.schemaPrune, request, given)).plan,
    queryExplain: (request, given) => call<QueryExplanation>(LOCAL_ROUTES.queryExplain, request, given),
    openTarget: (request, given) => call<OpenTarget>(LOCAL_ROUTES.openTarget, request, given),
    servicePlan: async (request, given) =>
      (await call<{ plan: ServicePlan }>(LOCAL_ROUTES.servicePlan, request, given)).plan,
    serviceApply: async (request, given) =>
      (await readEvents<{ plan: ServicePlan }>(options, LOCAL_ROUTES.serviceApply, request, given)).plan,
    servicePrune: async (request, given) =>
      (await call<{ plan: ServicePlan }>(LOCAL_ROUTES.servicePrune, request, given)).plan,
    recomputePlan: async (request, given) =>
      (await call<{ plan: RecomputePlan }>(LOCAL_ROUTES.recomputePlan, request, given)).plan,
    recompute: async (request, given) =>
      (await readEvents<{ result: RecomputeResult }>(options, LOCAL_ROUTES.recompute, request, given)).result,
    errors: async ({ target, table, column, limit }, given) => {
      const query = queryText({ target, table, column, limit: String(limit) });
      return (await call<{ tables: TableErrors[] }>(LOCAL_ROUTES.errors, undefined, given, query)).tables;
    },
    jobList: async ({ target, all }, given) => {
      const query = queryText({ target, all: all ? "1" : "0" });
      return (await call<{ jobs: JobRecord[] }>(LOCAL_ROUTES.jobList, undefined, given, query)).jobs;
    },
    jobCancel: (request, given) => call<{ id: string }>(LOCAL_ROUTES.jobCancel, request, given),
    serviceList: async (target, given) => {
      const query = target === undefined ? "" : `?target=${encodeURIComponent(target)}`;
      return (await call<{ services: ServiceRecord[] }>(LOCAL_ROUTES.serviceList, undefined, given, query)).services;
    },
    serviceRestart: (name, given) => call<ServiceRecord>(LOCAL_ROUTES.serviceRestart, { name }, given),
    serviceStop: (name, given) => call<ServiceRecord>(LOCAL_ROUTES.serviceStop, { name }, given),
    serviceLogs: (request, given) => readLog(options, request, given?.signal),
    databaseList: async (given) =>
      (await call<{ databases: LocalDatabase[] }>(LOCAL_ROUTES.databaseList, undefined, given)).databases,
    databaseDelete: (request, given) => call<LocalDeletion>(LOCAL_ROUTES.databaseDelete, request, given),
    stop: async (given) => {
      await call<unknown>(LOCAL_ROUTES.stop, {}, given);
    },
  };
}

function queryText(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return `?${given.join("&")}`;
}

type Route = { readonly method: string; readonly path: string };

/** One line of an `events` answer or of a log. */
type EventLine<T> =
  | Progress
  | ({ readonly event: "done" } & T)
  | { readonly event: "error"; readonly problem: Problem }
  | { readonly event: "log"; readonly line: string };

async function readJson<T>(
  options: LocalClientOptions,
  route: Route,
  query: string,
  body: unknown,
  signal: AbortSignal | undefined,
): Promise<T> {
  const response = await send(options, route, query, body, signal);
  const text = await readText(response, route, signal);
  return parseLine<T>(text === "" ? "{}" : text, route);
}

async function readEvents<T>(
  options: LocalClientOptions,
  route: Route,
  body: unknown,
  given: EventOptions = {},
): Promise<T> {
  const response = await send(options, route, "", body, given.signal);
  for await (const line of readLines(response, route, given.signal)) {
    const event = parseLine<EventLine<T>>(line, route);
    if (event.event === "progress") given.onProgress?.(event);
    else if (event.event === "error") throw fromProblem(event.problem);
    else if (event.event === "done") return event;
  }
  throw broken(route, "the answer ended before the work did");
}

async function* readLog(
  options: LocalClientOptions,
  request: { name: string; tail: number; follow: boolean },
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  const query = `?name=${encodeURIComponent(request.name)}&tail=${request.tail}&follow=${request.follow ? 1 : 0}`;
  const response = await send(options, LOCAL_ROUTES.serviceLogs, query, undefined, signal);
  for await (const line of readLines(response, LOCAL_ROUTES.serviceLogs, signal)) {
    const event = parseLine<EventLine<unknown>>(line, LOCAL_ROUTES.serviceLogs);
    if (event.event === "error") throw fromProblem(event.problem);
    if (event.event === "log") yield event.line;
  }
}

/** Sends a request; resolves with an answer of status 2xx. */
async function send(
  options: LocalClientOptions,
  route: Route,
  query: string,
  body: unknown,
  signal: AbortSignal | undefined,
): Promise<FetchedResponse> {
  const request: FetchLike = options.fetch ?? fetch;
  const headers: Record<string, string> = {
    authorization: `Bearer ${options.token}`,
    [CLIENT_VERSION_HEADER]: VERSION,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  const init = {
    method: route.method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  };
  let response: FetchedResponse;
  try {
    response = await request(`http://127.0.0.1:${options.port}${route.path}${query}`, init);
  } catch (cause) {
    throw toConnectionError(cause, options.port, route, signal);
  }
  if (response.status >= 200 && response.status < 300) return response;
  throw readProblem(await readText(response, route, signal), response.status, route);
}

async function readText(response: FetchedResponse, route: Route, signal: AbortSignal | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
  } catch (cause) {
    throw cutOff(route, signal, cause);
  }
  return text + decoder.decode();
}

async function* readLines(
  response: FetchedResponse,
  route: Route,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of response.body ?? []) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield line;
    }
  } catch (cause) {
    throw cutOff(route, signal, cause);
  }
  if (rest !== "") yield rest;
}

function parseLine<T>(text: string, route: Route): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw broken(route, "the answer is not JSON", cause);
  }
}

function readProblem(text: string, status: number, route: Route): Error {
  const problem = parseProblem(text);
  if (problem !== undefined) return fromProblem(problem);
  return broken(route, `the answer has status ${status} and is not a problem document`);
}

function toConnectionError(cause: unknown, port: number, route: Route, signal: AbortSignal | undefined): Error {
  if (signal?.aborted || !isRefused(cause)) return cutOff(route, signal, cause);
  return appError("daemon_not_running", {
    detail: `No daemon responds on 127.0.0.1:${port}.`,
    hint: "Start the daemon: cli daemon start",
    meta: { port },
    cause,
  });
}

/** The connection ended before its answer did: because we wanted it, or not. */
function cutOff(route: Route, signal: AbortSignal | undefined, cause: unknown): Error {
  if (signal?.aborted) return appError("interrupted", { detail: "The command was interrupted.", cause });
  return broken(route, "the connection broke", cause);
}

/** node:http throws the system error itself, `fetch` hangs it below a TypeError. */
function isRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ("code" in error && error.code === "ECONNREFUSED") || isRefused(error.cause);
}

function broken(route: Route, what: string, cause?: unknown): Error {
  return appError("daemon_failed", {
    detail: `The daemon did not finish ${route.method} ${route.path}: ${what}.`,
    hint: "Check its state and its log: cli daemon status",
    meta: { path: route.path },
    cause,
  });
}
