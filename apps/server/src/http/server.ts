import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { appError, ERRORS, toProblem } from "@appdb/contract/errors";
import { BODY_BYTES, controlRoute } from "@appdb/contract/routes/control-paths";
import {
  CLIENT_VERSION_HEADER,
  compareVersions,
  OLDEST_CLIENT,
  SERVER_VERSION_HEADER,
  VERSION,
} from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import type { Identity } from "../identity/identity.ts";
import { refuseForeignSite, type Site } from "../identity/tokens/csrf.ts";
import type { CallerLimits } from "../requests/caller-limits.ts";
import { authorize, demandPermissions, type FindOrg, type PathNames } from "../requests/checked-route.ts";
import { toAppError } from "../requests/problems.ts";
import { addBodyTime } from "./body-time.ts";

const PARAM_CHARACTERS = 500;
/** How long a request's headers may take to come; of its body body-time.ts says. */
const HEADERS_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 72_000;
const SANE_ID = /^[\w.:-]{1,128}$/;
const STATUS_CODES_OF_LOG = 500;
const TOO_MANY = 429;

export interface HttpDeps {
  readonly log: Logger;
  readonly site: Site;
  readonly trusted_proxies: readonly string[];
  readonly identity: Pick<Identity, "resolve">;
  readonly findOrg: FindOrg;
  readonly limits: CallerLimits;
}

/**
 * Makes the HTTP server, without routes. Before any handler: the caller is resolved, the site that a cookie comes from
 * is checked, the permission that the route names is checked; only then the body is read.
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
    // a path that cannot be read never becomes a request: what it has is the answer to it alone
    frameworkErrors: (error, request, reply: FastifyReply) => {
      const problem = toProblem(toAppError(error), request.id);
      void reply.code(problem.status).type("application/problem+json").send(JSON.stringify(problem));
    },
  });
  // a form or a plain text can come from another site without its browser asking first
  app.removeContentTypeParser("text/plain");
  app.decorateRequest("principal", undefined);
  app.decorateRequest("org", undefined);
  demandPermissions(app);
  addBodyTime(app);
  let isClosing = false;
  app.addHook("preClose", async () => {
    isClosing = true;
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({ [SERVER_VERSION_HEADER]: VERSION, "x-request-id": request.id, ...SAFE_HEADERS });
    if (deps.site.url.startsWith("https:")) reply.header("strict-transport-security", HSTS);
    refuseOldClient(request.headers[CLIENT_VERSION_HEADER]);
    const { permission, control } = request.routeOptions.config;
    if (control === undefined || permission === undefined) return;
    // from before the first wait: a client that leaves meanwhile closes the answer once and never again
    const hold = untilClosed(reply.raw);
    const { principal, set_cookie: setCookie } = await deps.identity.resolve(request);
    if (setCookie !== undefined) reply.header("set-cookie", setCookie);
    refuseForeignSite(deps.site, request.method, request.headers, principal?.shown === "cookie");
    request.principal = principal;
    const caller = principal?.key?.id ?? principal?.user_id;
    if (caller != null) hold(deps.limits.enter("principal", caller));
    request.org = await authorize(permission, principal, request.params as PathNames, deps.findOrg, control);
    if (request.org !== undefined) {
      hold(deps.limits.enter("organization", request.org.id, bodyBytes(request)));
    }
  });
  app.addHook("onSend", async (_request, reply) => {
    // what was under way is answered; its connection is then done
    if (isClosing) reply.header("connection", "close");
  });
  app.setErrorHandler((error, request, reply) => {
    const known = toAppError(error);
    const problem = toProblem(known, request.id);
    // not the URL: tokens of invitations are part of it
    const { id: req, ip, method, principal } = request;
    const caller = principal?.key?.id ?? principal?.user_id ?? null;
    const fields = { req, method, route: request.routeOptions.url, code: problem.code, ip, caller };
    if (problem.status >= STATUS_CODES_OF_LOG) deps.log.error({ ...fields, err: error }, "a request failed");
    else deps.log.info({ ...fields, status: problem.status }, "request refused");
    if (ERRORS[problem.code].status === TOO_MANY && typeof problem.meta?.["retry_after_s"] === "number") {
      reply.header("retry-after", String(problem.meta["retry_after_s"]));
    }
    void reply.code(problem.status).type("application/problem+json").send(JSON.stringify(problem));
  });
  app.setNotFoundHandler((request) => {
    const path = request.url.split("?")[0]?.slice(0, 200) ?? "";
    throw appError("not_found", {
      detail: `The server has no ${request.method} ${JSON.stringify(path).slice(1, -1)}.`,
      hint: "/v1/openapi.json lists the routes.",
    });
  });
  return app;
}

/** Gives back what a request holds when its answer is closed, however that ends; at once when it is closed already. */
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

/** Browsers reach the server by https alone, for a year from each visit. Hosts below it are other sites, and decide for themselves. */
const HSTS = "max-age=31536000";

/** What the body of a request may take in memory; routes that read it piece by piece hold nothing. */
function bodyBytes({ headers, routeOptions }: FastifyRequest): number {
  const { control } = routeOptions.config;
  if (control === undefined || controlRoute(control).streams !== undefined) return 0;
  if (headers["transfer-encoding"] === undefined && headers["content-length"] === undefined) return 0;
  const most = routeOptions.bodyLimit ?? BODY_BYTES;
  return Math.min(most, Number(headers["content-length"] ?? most) || 0);
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

/** @throws client_too_old with the command that upgrades it; programs that are no command send no version */
function refuseOldClient(sent: string | string[] | undefined): void {
  const version = Array.isArray(sent) ? sent.join(", ") : sent;
  if (version === undefined || compareVersions(version, OLDEST_CLIENT) >= 0) return;
  throw appError("client_too_old", {
    detail: `The command is version ${version.slice(0, 30)}; this server, version ${VERSION}, answers ${OLDEST_CLIENT} and newer.`,
    hint: "pip install --upgrade 'appdb[serve]'",
    meta: { server: VERSION, oldest: OLDEST_CLIENT },
  });
}
