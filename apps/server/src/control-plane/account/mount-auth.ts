import { appError, toProblem } from "@appdb/contract/errors";
import { AUTH_PATH } from "@appdb/contract/routes/control-paths";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Principal } from "../../audit/principal.ts";
import { ADDRESS_HEADER, type Auth, handleAuth, OIDC_PROVIDER } from "../../identity/auth.ts";
import { AUTH_BODIES, type AuthRoute } from "../../identity/auth-bodies.ts";
import type { AuthHandlers } from "../../identity/auth-call.ts";
import type { Identity } from "../../identity/identity.ts";
import { refuseForeignSite, type Site } from "../../identity/tokens/csrf.ts";
import { translate } from "../../identity/translate.ts";
import { clientOf } from "../../requests/checked-route.ts";
import { parseInput, toAppError } from "../../requests/problems.ts";

/** Routes of the device flow (RFC 8628). Their errors are `{error, error_description}`. */
const RFC_8628 = new Set<AuthRoute>(["device/code", "device/token"]);

/**
 * Mounts better-auth under /v1/auth, but only the routes of `AUTH_BODIES` and the OIDC callback. It parses bodies first
 * and removes headers that could change the address or host. It turns refusals into problem documents.
 */
export function mountAuth(app: FastifyInstance, identity: Identity, handlers: AuthHandlers, site: Site): void {
  for (const route of Object.keys(AUTH_BODIES) as AuthRoute[]) {
    app.post(`${AUTH_PATH}/${route}`, { config: { permission: "public" } }, async (request, reply) => {
      try {
        return await answer(reply, await runRoute(identity, handlers, site, route, request));
      } catch (error) {
        const known = toAppError(error);
        if (!route.startsWith("device/")) throw known;
        const problem = toProblem(known, request.id);
        if (problem.status >= 500) throw known;
        // clients of the device flow read `error`, pages read the rest
        const more = { error: "invalid_request", error_description: problem.detail };
        return reply
          .code(problem.status)
          .type("application/problem+json")
          .send(JSON.stringify({ ...problem, ...more }));
      }
    });
  }
  app.get(`${AUTH_PATH}/callback/${OIDC_PROVIDER}`, { config: { permission: "public" } }, async (request, reply) => {
    const query = new URL(request.url, site.url).search;
    const path = `callback/${OIDC_PROVIDER}${query}`;
    return await answer(reply, await send(identity.auth(), site, request, "GET", path, undefined));
  });
}

async function runRoute(
  identity: Identity,
  handlers: AuthHandlers,
  site: Site,
  route: AuthRoute,
  request: FastifyRequest,
): Promise<Response> {
  const principal = await callerOf(identity, route, request);
  refuseForeignSite(site, request.method, request.headers, principal?.credential === "cookie");
  const call = {
    body: parseInput<unknown>(AUTH_BODIES[route], withOwnPath(request.body, site), "body"),
    principal,
    client: clientOf(request),
    cookies: request.headers.cookie,
    run: (path: string, body: unknown) => send(identity.auth(), site, request, "POST", path, body),
  };
  // the handler matches the body of its route; the compiler cannot pair them over a union
  const handler = handlers[route] as (call: unknown) => Promise<Response>;
  const response = await handler(call);
  if (response.ok || response.status < 400 || RFC_8628.has(route)) return response;
  throw translate(response.status, await response.json().catch(() => undefined));
}

/** The signed-in caller, for the routes that need one. A key cannot sign in or confirm codes. */
async function callerOf(identity: Identity, route: AuthRoute, request: FastifyRequest): Promise<Principal | undefined> {
  if (route !== "sign-out" && route !== "device/approve" && route !== "device/deny") return undefined;
  const { principal } = await identity.resolve(request);
  if (principal === undefined || principal.kind === "user") return principal;
  throw appError("forbidden", {
    detail: "An API key has no session: only a person can sign out or confirm codes.",
    hint: "Leave X-api-key out.",
  });
}

/** Replaces a full address of this site with its path. */
function withOwnPath(body: unknown, site: Site): unknown {
  if (typeof body !== "object" || body === null) return body;
  const cut = (value: unknown) =>
    typeof value === "string" && value.startsWith(`${site.url}/`) ? value.slice(site.url.length) : value;
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [
      key,
      key === "callbackURL" || key === "redirectTo" ? cut(value) : value,
    ]),
  );
}

async function send(
  auth: Auth,
  site: Site,
  request: FastifyRequest,
  method: "GET" | "POST",
  path: string,
  body: unknown,
): Promise<Response> {
  const headers = new Headers({ [ADDRESS_HEADER]: request.ip, origin: site.url });
  for (const name of ["cookie", "authorization", "user-agent"] as const) {
    const value = request.headers[name];
    if (value !== undefined) headers.set(name, value);
  }
  if (body !== undefined) headers.set("content-type", "application/json");
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  return await handleAuth(auth, new Request(`${site.url}${AUTH_PATH}/${path}`, init));
}

const PASSED_ON = ["content-type", "location", "pragma"] as const;

async function answer(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  for (const name of PASSED_ON) {
    const value = response.headers.get(name);
    if (value !== null) reply.header(name, value);
  }
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) reply.header("set-cookie", cookies);
  return reply.code(response.status).send(await response.text());
}
