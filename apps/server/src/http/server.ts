import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { AppError, appError, ERRORS, toProblem } from "@appdb/contract/errors";
import { BODY_BYTES, controlRoute } from "@appdb/contract/routes/control-paths";
import {
  BUILD,
  CLIENT_VERSION_HEADER,
  compareVersions,
  OLDEST_CLIENT,
  SERVER_BUILD_HEADER,
  SERVER_VERSION_HEADER,
  VERSION,
} from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import { wasLeft } from "@appdb/http/mount-api";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { createOutageLog } from "../database/outage-log.ts";
import { isDatabaseLost } from "../database/pool.ts";
import type { Identity } from "../identity/identity.ts";
import { refuseForeignSite, type Site } from "../identity/tokens/csrf.ts";
import { type BodyBytes, counted, ownerOfBodies } from "../requests/body-bytes.ts";
import type { CallerLimits } from "../requests/caller-limits.ts";
import { authorize, type FindOrg, type PathNames, requirePermissions } from "../requests/checked-route.ts";
import { toAppError } from "../requests/problems.ts";
import { addBodyTime } from "./body-time.ts";

const PARAM_CHARACTERS = 500;
/** Maximum time for a request's headers. body-time.ts limits bodies. */
const HEADERS_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 72_000;
const SANE_ID = /^[\w.:-]{1,128}$/;
const STATUS_CODES_OF_LOG = 500;
const NO_ROOM = 507;
const TOO_MANY = 429;

export interface HttpDeps {
  readonly log: Logger;
  readonly site: Site;
  readonly trusted_proxies: readonly string[];
  readonly identity: Pick<Identity, "resolve">;
  readonly findOrg: FindOrg;
  readonly limits: CallerLimits;
  readonly bodies: BodyBytes;
}

/**
 * Creates the HTTP server without routes. Before a handler runs, it resolves the caller, checks a cookie's origin and
 * checks the route's permission. Only then it reads the body.
 */
export function createHttpServer(deps: HttpDeps): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: BODY_BYTES,
    genReqId: requestId,
    requestIdHeader: false,
    trustProxy: deps.trusted_proxies.length === 0 ? false : [...deps.trusted_proxies],
    routerOptions: { maxParamLength: PARAM_CHARACTERS },
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    return503OnClosing: false,
    forceCloseConnections: "idle",
    // a malformed path never becomes a request: set everything on its answer here
    frameworkErrors: (error, request, reply: FastifyReply) => {
      const problem = toProblem(toAppError(error), request.id);
      void reply.code(problem.status).type("application/problem+json").send(JSON.stringify(problem));
    },
  });
  // another site can send a form or plain text without a preflight
  app.removeContentTypeParser("text/plain");
  app.decorateRequest("principal", undefined);
  app.decorateRequest("org", undefined);
  app.decorateRequest("counted_body", undefined);
  requirePermissions(app);
  addBodyTime(app);
  const outage = createOutageLog(deps.log);
  app.addHook("onResponse", async (request, reply) => {
    // its caller was found, or its answer read from PostgreSQL
    if (reply.statusCode < STATUS_CODES_OF_LOG && request.principal !== undefined) outage.worked();
  });
  let isClosing = false;
  app.addHook("preClose", async () => {
    isClosing = true;
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({ [SERVER_VERSION_HEADER]: VERSION, "x-request-id": request.id, ...SAFE_HEADERS });
    if (deps.site.url.startsWith("https:")) reply.header("strict-transport-security", HSTS);
    refuseOldClient(request.headers[CLIENT_VERSION_HEADER]);
    const { permission, control } = request.routeOptions.config;
    const isRoute = control !== undefined && permission !== undefined;
    // a signed-in command that asks for an unknown route gets the build, too
    if (!isRoute && !(isUnknown(request) && showsToken(request))) return;
    // before the first await: a client may disconnect meanwhile, and its answer closes only once
    const hold = untilClosed(reply.raw);
    const { principal, set_cookie: setCookie } = await beforeWork(() => deps.identity.resolve(request));
    if (setCookie !== undefined) reply.header("set-cookie", setCookie);
    // strangers would learn which published defects the server has
    if (principal !== undefined) reply.header(SERVER_BUILD_HEADER, BUILD ?? "source");
    refuseForeignSite(deps.site, request.method, request.headers, principal?.credential === "cookie");
    request.principal = principal;
    const caller = principal?.key?.id ?? principal?.user_id;
    if (caller != null) hold(deps.limits.enter("principal", caller));
    if (!isRoute) return;
    const path = request.params as PathNames;
    request.org = await beforeWork(() => authorize(permission, principal, path, deps.findOrg, control));
    if (request.org !== undefined) hold(deps.limits.enter("organization", request.org.id));
    const owner = isBuffered(request) ? ownerOfBodies(principal) : undefined;
    if (owner === undefined) return;
    const body = deps.bodies.begin(owner, request.org?.id);
    request.counted_body = body;
    hold(() => body[Symbol.dispose]());
  });
  app.addHook("preParsing", (request, _reply, payload, done) => {
    done(null, request.counted_body === undefined ? payload : counted(payload, request.counted_body));
  });
  app.addHook("preValidation", async (request) => request.counted_body?.parsed());
  app.addHook("onSend", async (_request, reply) => {
    // the running request is answered, then its connection closes
    if (isClosing) reply.header("connection", "close");
  });
  app.setErrorHandler((error, request, reply) => {
    const known = toAppError(error, isRead(request));
    const problem = toProblem(known, request.id);
    // not the URL, which may contain an invitation's token
    const { id: req, ip, method, principal } = request;
    const caller = principal?.key?.id ?? principal?.user_id ?? null;
    const who = { req, method, route: request.routeOptions.url, ip, caller };
    const fields = { ...who, code: problem.code };
    // a database's full disk or store is its members' matter; that of the home is a problem of /health
    const lost = findLoss(error);
    const isOurs = problem.status >= STATUS_CODES_OF_LOG && problem.status !== NO_ROOM;
    if (wasLeft(reply, error)) deps.log.info(who, "the client of a request left");
    else if (lost !== undefined) outage.failed(lost, "a request failed", fields);
    else if (isOurs) deps.log.error({ ...fields, err: error }, "a request failed");
    else deps.log.info({ ...fields, status: problem.status }, "request refused");
    if (ERRORS[problem.code].status === TOO_MANY && typeof problem.meta?.["retry_after_s"] === "number") {
      reply.header("retry-after", String(problem.meta["retry_after_s"]));
    }
    void reply.code(problem.status).type("application/problem+json").send(JSON.stringify(problem));
  });
  app.setNotFoundHandler((request) => {
    const path = request.url.split("?")[0]?.slice(0, 200) ?? "";
    throw appError("not_found", {
      detail: `The server has no route ${request.method} ${JSON.stringify(path).slice(1, -1)}.`,
      hint: "For all routes, see /v1/openapi.json",
    });
  });
  return app;
}

/** The loss of the control plane's PostgreSQL in a request, also before its handler ran (`beforeWork`). */
function findLoss(error: unknown): unknown {
  const known = error instanceof AppError && error.code === "database_unavailable" ? error.cause : error;
  return isDatabaseLost(known) ? known : undefined;
}

/** Whether a request changes nothing. */
function isRead({ method, routeOptions }: FastifyRequest): boolean {
  const { control } = routeOptions.config;
  return method === "GET" || method === "HEAD" || (control !== undefined && controlRoute(control).is_safe === true);
}

/** Checks a request before its handler runs: nothing was changed if PostgreSQL is lost meanwhile. */
async function beforeWork<T>(check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    throw toAppError(error, true);
  }
}

/** Whether no route of the API has this path. */
function isUnknown({ is404, routeOptions, url }: FastifyRequest): boolean {
  return url.startsWith("/v1/") && (is404 || routeOptions.url === "/*");
}

/** Whether a request has a credential of the command or of a program. */
function showsToken({ headers }: FastifyRequest): boolean {
  return headers.authorization !== undefined || headers["x-api-key"] !== undefined;
}

/** Releases a request's slot when its answer closes for any reason, or at once if it is already closed. */
function untilClosed(answer: ServerResponse): (leave: () => void) => void {
  const leaves: (() => void)[] = [];
  let isClosed = false;
  answer.once("close", () => {
    isClosed = true;
    for (const leave of leaves) leave();
  });
  return (leave) => {
    if (isClosed) leave();
    else leaves.push(leave);
  };
}

/** Browsers use only https, for a year after each visit. Subdomains are other sites and decide for themselves. */
const HSTS = "max-age=31536000";

/** Whether a request has a body that is read into memory. Routes that read it in pieces buffer nothing, and one that is
 *  announced as too large is refused unread. */
function isBuffered({ headers, routeOptions }: FastifyRequest): boolean {
  const { control } = routeOptions.config;
  if (control === undefined || controlRoute(control).streams !== undefined) return false;
  const { "content-length": length, "transfer-encoding": encoding } = headers;
  if (length === undefined) return encoding !== undefined;
  return Number(length) <= (routeOptions.bodyLimit ?? BODY_BYTES);
}

const SAFE_HEADERS = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

function requestId(request: { headers: Record<string, string | string[] | undefined> }): string {
  const own = request.headers["x-request-id"];
  return typeof own === "string" && SANE_ID.test(own) ? own : randomUUID();
}

/** @throws client_too_old with the upgrade command. Only the CLI sends its version. */
function refuseOldClient(sent: string | string[] | undefined): void {
  const version = Array.isArray(sent) ? sent.join(", ") : sent;
  if (version === undefined || compareVersions(version, OLDEST_CLIENT) >= 0) return;
  throw appError("client_too_old", {
    detail: `The CLI is version ${version.slice(0, 30)}. This server, version ${VERSION}, requires ${OLDEST_CLIENT} or newer.`,
    hint: "pip install --upgrade 'appdb[serve]'",
    meta: { server: VERSION, oldest: OLDEST_CLIENT },
  });
}
