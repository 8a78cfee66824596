import { randomUUID } from "node:crypto";
import { appError, type Problem } from "@appdb/contract/errors";
import type { ManifestBackground, ManifestRoute, ManifestService } from "@appdb/contract/manifest";
import { answerError, JSON_HEADERS } from "../answers/answers.ts";
import type { KeptAnswer, Once } from "../idempotency/request-store.ts";
import { FORM_TYPE, isForm } from "../route-kinds/request-form.ts";
import { readIdempotencyKey } from "../routes/idempotency-key.ts";
import { backgroundOf, type CompiledRoute, type ReceiveForm, type RouteRequest } from "../routes/route.ts";
import type { RouteContext } from "../routes/route-context.ts";
import { folderSchema } from "../target.ts";
import { type BackgroundState, cancelBackground, queueBackground, readBackground } from "./background-store.ts";
import { BackgroundRunner, jobRouteKey } from "./run-background.ts";

/** Below the service's own path, whatever its prefix. No route can begin with `/_`. */
export const JOBS_PATH = "/_jobs";
/** Seconds after which a client may poll again. */
const LOOK_AGAIN_S = 1;
const FULL_AGAIN_S = 5;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The route of a job, in the form stored in its row. */
function jobRoute(route: Pick<CompiledRoute, "method" | "path">): string {
  return `${route.method} ${route.path}`;
}

/** Makes a route answer at once with a job that runs it later. Invalid requests are refused first. `mount`: the
 *  service's own path. */
function toBackground(
  context: RouteContext,
  route: CompiledRoute & Required<Pick<CompiledRoute, "check">>,
  { attempts, expires_s: expiresS }: ManifestBackground,
  mount: string,
): CompiledRoute {
  const { deps, input, limits } = context;
  const routeText = `${input.target} ${route.service} ${jobRoute(route)} in the background`;
  const folder = folderSchema(input.target);
  async function submit(request: RouteRequest, once: Once | undefined, form: string | null): Promise<KeptAnswer> {
    const id = randomUUID();
    const answer = {
      status: 200,
      headers: JSON_HEADERS,
      body: JSON.stringify({ id, job_url: jobUrl(request, mount, route.path, id) }),
    };
    const body = typeof request.body === "string" ? request.body : Buffer.from(request.body).toString("utf8");
    const { search = "" } = request;
    const queued = { id, folder, service: route.service, route: jobRoute(route), body, search, form };
    const max = limits.background_jobs;
    await deps.sql.transaction(async (connection) => {
      if (!(await queueBackground(connection, queued, { most: max, attempts, expires_s: expiresS })))
        throw tooMany(max);
      if (once === undefined) return;
      await context.keepAnswer(connection, { ...once, answer });
    });
    return answer;
  }
  /** The files of a form are stored before its job is accepted. */
  async function submitForm(request: RouteRequest, receive: ReceiveForm): Promise<KeptAnswer> {
    await using form = await receive(request);
    form.check();
    const once = readIdempotencyKey({ ...request, body: form.content }, routeText);
    const accept = async () => submit(request, once, await form.store());
    return once === undefined ? await accept() : await context.once.run(once, false, accept);
  }
  const { receiveForm, ...rest } = route;
  return {
    ...rest,
    streams: receiveForm === undefined ? [] : [FORM_TYPE],
    takes_signal: false,
    async handle(request) {
      try {
        if (receiveForm !== undefined && isForm(request)) return await submitForm(request, receiveForm);
        await route.check(request);
        const once = readIdempotencyKey(request, routeText);
        if (once === undefined) return await submit(request, undefined, null);
        return await context.once.run(once, false, () => submit(request, once, null));
      } catch (error) {
        const answer = answerError(error, request.id, deps.log);
        if (answer.status !== 503) return answer;
        return { ...answer, headers: { ...answer.headers, "retry-after": String(FULL_AGAIN_S) } };
      }
    },
  };
}

type Compile = (service: ManifestService, route: ManifestRoute) => CompiledRoute;

/** The routes of services, some of which run in the background. */
export class BackgroundRoutes {
  readonly #context: RouteContext;
  readonly #services: readonly string[];
  readonly #compile: Compile;
  readonly #routes = new Map<string, CompiledRoute>();

  constructor(context: RouteContext, services: readonly string[], compile: Compile) {
    this.#context = context;
    this.#services = services;
    this.#compile = compile;
  }

  /** Compiles a route for its callers. */
  compile(service: ManifestService, route: ManifestRoute): CompiledRoute {
    const compiled = this.#compile(service, route);
    const background = backgroundOf(route);
    const { check } = compiled;
    if (background === null || check === undefined) return compiled;
    this.#routes.set(jobRouteKey(service.name, jobRoute(compiled)), compiled);
    // The server mounts services in the same way.
    const mount = this.#services.length === 1 ? "" : `/${service.name}`;
    return toBackground(this.#context, { ...compiled, check }, background, mount);
  }

  /** The runner of their jobs; undefined when no route makes jobs. */
  runner(owner: string): BackgroundRunner | undefined {
    if (this.#routes.size === 0) return undefined;
    const { deps, input, limits } = this.#context;
    const folder = folderSchema(input.target);
    const atOnce = limits.background_at_once;
    return new BackgroundRunner(deps, {
      folder,
      services: this.#services,
      owner,
      routes: this.#routes,
      at_once: atOnce,
    });
  }
}

/** The routes of a service that report the status of its jobs and cancel them. */
export function compileJobRoutes(context: RouteContext, service: ManifestService): readonly CompiledRoute[] {
  const { deps } = context;
  const place = { folder: folderSchema(context.input.target), service: service.name };
  const tell = async (id: string) => {
    const found = UUID.test(id) ? await readBackground(deps, { ...place, id }) : undefined;
    if (found === undefined) throw unknownJob(id);
    const headers = isPending(found) ? { ...JSON_HEADERS, "retry-after": String(LOOK_AGAIN_S) } : JSON_HEADERS;
    return { found, answer: { status: 200, headers, body: stateText(found) } };
  };
  const route = (method: "GET" | "DELETE", work: (id: string) => Promise<KeptAnswer>): CompiledRoute => ({
    service: service.name,
    method,
    path: `${JOBS_PATH}/{id}`,
    uses_python: false,
    takes_signal: false,
    takes_any_body: true,
    async handle(request) {
      try {
        return await work(request.route?.params.id ?? "");
      } catch (error) {
        return answerError(error, request.id, deps.log);
      }
    },
  });
  return [
    route("GET", async (id) => (await tell(id)).answer),
    route("DELETE", async (id) => {
      const { found } = await tell(id);
      if (!isPending(found) || !(await cancelBackground(deps, id))) throw hasEnded(id, found);
      return (await tell(id)).answer;
    }),
  ];
}

function isPending({ state }: BackgroundState): boolean {
  return state === "queued" || state === "running";
}

/** The status that clients see for each state. */
const STATUSES = {
  queued: "pending",
  running: "pending",
  done: "done",
  failed: "error",
  cancelled: "cancelled",
} as const satisfies Record<BackgroundState["state"], string>;

function stateText({ state, error, result }: BackgroundState): string {
  const statusJson = `"status":"${STATUSES[state]}","error":${JSON.stringify(error?.detail ?? null)}`;
  // The result is the exact text of the route's response; a 204 has none.
  return `{${statusJson},"error_detail":${JSON.stringify(error satisfies Problem | null)},"result":${result || "null"}}`;
}

/**
 * The URL of a job's status. Behind a proxy the client's URL is unknown. The result is then relative to the request,
 * which works with any scheme, host and prefix.
 */
function jobUrl({ headers }: RouteRequest, mount: string, path: string, id: string): string {
  const { host } = headers;
  const isProxied = PROXY_HEADERS.some((name) => headers[name] !== undefined);
  if (typeof host === "string" && !isProxied) return `http://${host}${mount}${JOBS_PATH}/${id}`;
  const depth = path.split("/").length - 2;
  return `${"../".repeat(depth)}${JOBS_PATH.slice(1)}/${id}`;
}

/** Headers that proxies add to a request. */
const PROXY_HEADERS = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-prefix",
  "x-forwarded-proto",
  "x-real-ip",
] as const;

function unknownJob(id: string): Error {
  return appError("job_not_found", {
    detail: `Job ${id.slice(0, 100)} does not exist or has expired.`,
    hint: "Use the job_url from the response. A job is available for a limited time after its end.",
  });
}

function hasEnded(id: string, { state }: BackgroundState): Error {
  return appError("job_not_cancellable", {
    detail: `Job ${id} has ended: it is ${state}.`,
    hint: "Send a new request that reverts its changes.",
    meta: { job: id },
  });
}

function tooMany(max: number): Error {
  return appError("overloaded", {
    detail: `The service is at its limit of ${max} unfinished background jobs.`,
    hint: "Send the request again in a moment, or raise SERVICE_BACKGROUND_JOBS.",
    meta: { limit: "background_jobs", value: max },
  });
}
