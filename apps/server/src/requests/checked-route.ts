import { createHash } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import { type Permission, type RoutePermission, roleHas } from "@appdb/contract/permissions";
import type { Answered, CheckedRoute, ParamOf, RouteSchemas } from "@appdb/contract/routes/api";
import { CONTROL_API } from "@appdb/contract/routes/control-api";
import {
  BODY_BYTES,
  CONTROL_ROUTES,
  type ControlRoute,
  type ControlRouteName,
  controlRoute,
} from "@appdb/contract/routes/control-paths";
import { type Call as MountedCall, mountRoute } from "@appdb/http/mount-api";
import { createFairQueue, type FairQueue } from "@appdb/system/processes/fair-queue";
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import { sql } from "kysely";
import type { CallClient, Principal, PrincipalOrg } from "../audit/principal.ts";
import type { ControlDatabase, Tx } from "../database/pool.ts";
import type { CountedBody } from "./body-bytes.ts";
import { type AnswerSeal, changeOnce } from "./idempotency.ts";
import { hasManageGrant, mayAccessDatabase, mayManageSome, notGranted } from "./manage-grants.ts";
import { parseInput } from "./problems.ts";

type ControlApi = typeof CONTROL_API;
type PermissionOf<Name extends ControlRouteName> = ControlApi[Name]["permission"];

/** The organization of `:org`, with the caller's role. */
export type CallOrg = PrincipalOrg & { readonly role: NonNullable<PrincipalOrg["role"]> };

/** An authorized request with parsed input. */
export interface Call<Name extends ControlRouteName>
  extends MountedCall<ControlApi[Name], FastifyRequest, FastifyReply> {
  readonly principal: PermissionOf<Name> extends "public" ? Principal | undefined : Principal;
  /** The organization in the path. The caller belongs to it and has the route's permission. */
  readonly org: ParamOf<ControlApi[Name]["path"]> extends infer Param
    ? "org" extends Param
      ? CallOrg
      : undefined
    : never;
  /** For the audit log. */
  readonly client: CallClient;
  /** Runs after the commit, but not for a repeated request: mails, notifications. Must not throw. */
  afterCommit(work: () => void): void;
}

/** A handler's answer. Undefined if it answered through `reply` (a stream), or for 204. */
export type Answer<Name extends ControlRouteName> = ControlApi[Name] extends { readonly answers: string }
  ? // biome-ignore lint/suspicious/noConfusingVoidType: a streaming handler returns nothing
    void
  : Answered<ControlApi[Name]> | undefined;

/** Finds an organization by name. Undefined unless the caller belongs to it, whether it exists or not. */
export type FindOrg = (principal: Principal, name: string) => Promise<CallOrg | undefined>;

declare module "fastify" {
  interface FastifyContextConfig {
    /** The required permission. A route without one cannot be registered. */
    permission?: RoutePermission;
    /** The route's name in CONTROL_ROUTES, for the audit log and the OpenAPI document. */
    control?: ControlRouteName;
  }
  interface FastifyRequest {
    principal: Principal | undefined;
    org: CallOrg | undefined;
    /** Its body, while it is in memory. */
    counted_body: CountedBody | undefined;
  }
}

const AGENT_CHARACTERS = 200;

/** Registers routes of the contract: checks the permission, then reads the body and passes parsed input on. */
export interface ControlRoutes {
  /** A route that reads, or that manages its own transactions. */
  add<Name extends ControlRouteName>(name: Name, handler: (call: Call<Name>) => Promise<Answer<Name>>): void;
  /** A route with one transaction, which runs once per Idempotency-Key. */
  change<Name extends ControlRouteName>(name: Name, handler: (call: Call<Name>, tx: Tx) => Promise<Answer<Name>>): void;
  /** Like `change`, with slow preparations before the transaction. */
  changePrepared<Name extends ControlRouteName, Prepared>(
    name: Name,
    prepare: (call: Call<Name>) => Promise<Prepared>,
    handler: (call: Call<Name>, tx: Tx, prepared: Prepared) => Promise<Answer<Name>>,
  ): void;
  /** Routes of the contract that were not added. */
  missing(): readonly ControlRouteName[];
}

/** Concurrent transactions of one organization, or of one caller. Others wait before they take a connection. */
const CHANGES_OF_ONE = 3;
/** The same for all callers, so that connections remain for other requests. */
const CHANGES_AT_ONCE = 12;

export interface RouteDeps {
  readonly db: ControlDatabase;
  readonly seal: AnswerSeal;
}

export function createControlRoutes(app: FastifyInstance, routeDeps: RouteDeps): ControlRoutes {
  const changes = createFairQueue({ at_once: CHANGES_AT_ONCE, of_one: CHANGES_OF_ONE });
  const deps = { ...routeDeps, changes };
  const added = new Set<ControlRouteName>();
  const register = (name: ControlRouteName, run: (call: AnyCall, status: number) => Promise<unknown>) => {
    if (added.has(name)) throw new Error(`The route ${name} is registered twice.`);
    added.add(name);
    const route: ControlRoute & RouteSchemas = CONTROL_API[name];
    const mounted = mountRoute<CheckedRoute, FastifyRequest, FastifyReply>(
      route,
      { parse: parseInput, finish: (_route, returned) => route.answer?.parse(returned) },
      (call) => run(callOf(call), route.status ?? 200),
    );
    const config = { permission: route.permission, control: name };
    const options = { ...mounted, bodyLimit: route.body_bytes ?? BODY_BYTES, config };
    if (route.streams === undefined) app.route(options);
    else addUnread(app, options);
  };
  // The types of Call follow from the route's own table, which the compiler cannot resolve for a generic Name.
  return {
    add: (name, handler) => register(name, (call) => handler(call as unknown as Call<typeof name>)),
    change: (name, handler) =>
      register(name, (call, status) => changeIn(deps, name, call, status, (whole, tx) => handler(whole, tx))),
    changePrepared: (name, prepare, handler) =>
      register(name, async (call, status) => {
        // a repeated request must get its first answer even if the preparation fails now
        const [prepared] = await Promise.allSettled([prepare(call as unknown as Call<typeof name>)]);
        return await changeIn(deps, name, call, status, async (whole, tx) => {
          if (prepared.status === "rejected") throw prepared.reason;
          return await handler(whole, tx, prepared.value);
        });
      }),
    missing: () => (Object.keys(CONTROL_ROUTES) as ControlRouteName[]).filter((name) => !added.has(name)),
  };
}

/** Runs a route's change in its transaction. Returns the handler's answer. */
async function changeIn<Name extends ControlRouteName>(
  deps: RouteDeps & { readonly changes: FairQueue },
  name: Name,
  call: AnyCall,
  status: number,
  handler: (call: Call<Name>, tx: Tx) => Promise<unknown>,
): Promise<unknown> {
  const after: (() => void)[] = [];
  const whole = { ...call, afterCommit: (work: () => void) => after.push(work) } as unknown as Call<Name>;
  const key = whole.request.headers["idempotency-key"];
  const once = {
    principal: whole.request.principal,
    // hashed, because the path may contain an invitation's token
    route: `${name} ${createHash("sha256").update(whole.request.url).digest("hex")}`,
    key: Array.isArray(key) ? key.join(", ") : key,
    request: call.body,
  };
  const { principal, org } = whole.request;
  const owner = org?.id ?? principal?.user_id ?? principal?.key?.id ?? whole.request.ip;
  const { answer, is_repeated: isRepeated } = await deps.changes.run(owner, () =>
    changeOnce(deps.db, deps.seal, once, status, async (tx) => {
      if (principal === undefined) return handler(whole, tx);
      const { permission } = CONTROL_ROUTES[name];
      return handler({ ...whole, org: await recheckCaller(tx, { principal, org, permission }) } as typeof whole, tx);
    }),
  );
  if (isRepeated) whole.reply.header("idempotency-replayed", "true");
  for (const work of after) work();
  return answer ?? undefined;
}

/** Adds a route whose handler reads the body itself, of any type. */
function addUnread(app: FastifyInstance, options: RouteOptions): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    scope.route(options);
  });
}

type AnyCall = { readonly [key in keyof Call<"orgShow">]: unknown };

function callOf(call: MountedCall<CheckedRoute, FastifyRequest, FastifyReply>): AnyCall {
  const { org, principal } = call.request;
  return { ...call, org, principal, client: clientOf(call.request), afterCommit: (work: () => void) => work() };
}

/** Refuses to register a route without a permission. */
export function requirePermissions(app: FastifyInstance): void {
  app.addHook("onRoute", (route) => {
    if (route.config?.permission !== undefined) return;
    throw new Error(`The route ${String(route.method)} ${route.url} has no permission.`);
  });
}

/** Names in a path that authorization needs. */
export interface PathNames {
  readonly org?: string;
  readonly db?: string;
  readonly service?: string;
}

/**
 * Checks that the caller may use the route.
 * @throws unauthorized, forbidden; organization_not_found for any organization that is not the caller's
 */
export async function authorize(
  permission: RoutePermission,
  principal: Principal | undefined,
  path: PathNames,
  findOrg: FindOrg,
  route: ControlRouteName | undefined,
): Promise<CallOrg | undefined> {
  const { org } = path;
  if (permission === "public") return undefined;
  if (principal === undefined) {
    throw appError("unauthorized", {
      detail: "The request has neither an API key nor a session.",
      hint: "Sign in: cli login. Or send a key in X-api-key.",
    });
  }
  if (principal.user_id === null && route !== "whoami") return byGrant(principal, path, route);
  if (org === undefined) return undefined;
  const found = await findOrg(principal, org);
  if (found === undefined) throw orgNotFound(org);
  refuseSuspended(found);
  if (permission !== "signed_in") demand(found, permission);
  return found;
}

/** @throws organization_suspended */
function refuseSuspended({ name, suspension }: Pick<CallOrg, "name" | "suspension">): void {
  if (suspension == null) return;
  throw appError("organization_suspended", {
    detail: `The operator of the server suspended the organization ${name}${suspension === "" ? "." : `: ${suspension}`}`,
    hint: "Ask the operator of the server to end the suspension. Its data are kept.",
    meta: { organization: name },
  });
}

/** Allows a key with grants to use routes of services that it may manage, and of media stores, as a member of its organization. */
function byGrant(principal: Principal, { db, org, service }: PathNames, route: ControlRouteName | undefined): CallOrg {
  const { organization } = principal;
  const { by_access: byAccess, by_grant: byManage } = route === undefined ? {} : controlRoute(route);
  const isForGrants = byManage === true;
  const isOwn = org !== undefined && organization?.name === org;
  if (isOwn && byAccess === true) {
    if (!mayAccessDatabase(principal, db)) throw notGranted(principal);
    refuseSuspended(organization);
    return { ...organization, role: "member" };
  }
  if (org !== undefined && !(isOwn && isForGrants && hasManageGrant(principal))) throw orgNotFound(org);
  if (!isOwn || !mayManageSome(principal, db, service)) throw notGranted(principal);
  refuseSuspended(organization);
  return { ...organization, role: "member" };
}

/**
 * Authorizes the caller again, right before a change. The first check used the headers; the body may arrive much later,
 * and the caller may have been removed, demoted or signed out meanwhile. Returns the organization with the caller's
 * current role.
 * @throws unauthorized, organization_not_found, forbidden
 */
export async function recheckCaller<Org extends CallOrg | undefined>(
  db: ControlDatabase | Tx,
  {
    principal,
    org,
    permission,
  }: { readonly principal: Principal; readonly org: Org; readonly permission: RoutePermission },
): Promise<Org> {
  const { session_id: sessionId, user_id: userId, key } = principal;
  const { rows } = await sql<{ is_good: boolean; role: CallOrg["role"] | null }>`
    select
      exists (select from identity.sessions where id = ${sessionId} and expires_at > now())
      or exists (select from control.api_keys where id = ${key?.id ?? null} and coalesce(expires_at > now(), true)) as is_good,
      (select role from control.members where org_id = ${org?.id ?? null}::uuid and user_id = ${userId}) as role`.execute(
    db,
  );
  const now = rows[0];
  if (now?.is_good !== true) {
    throw appError("unauthorized", {
      detail: "The session or the API key ended while the request was being sent.",
      hint: "Sign in again: cli login",
    });
  }
  // a key with grants acts as itself, and its grants never change
  if (org === undefined || userId === null) return org;
  if (now.role === null) throw orgNotFound(org.name);
  const current = { ...org, role: now.role };
  if (permission !== "public" && permission !== "signed_in") demand(current, permission);
  return current;
}

/** @throws forbidden if the role lacks the permission */
export function demand(org: CallOrg, permission: Permission): void {
  if (roleHas(org.role, permission)) return;
  throw appError("forbidden", {
    detail: `A member with the role ${org.role} of ${org.name} cannot do this. It requires the permission ${permission}.`,
    hint: "Ask an owner or admin of the organization: cli whoami says who you are.",
    meta: { permission, role: org.role },
  });
}

/** The same error for a missing organization and for one of other people. */
export function orgNotFound(name: string): Error {
  const shown = JSON.stringify(printable(name.length > 60 ? `${name.slice(0, 57)}...` : name));
  return appError("organization_not_found", {
    detail: `You do not belong to an organization ${shown}.`,
    hint: "List your organizations: cli org list",
  });
}

export function clientOf(request: FastifyRequest): CallClient {
  const agent = request.headers["user-agent"];
  return { ip_address: request.ip, client: agent === undefined ? null : printable(agent).slice(0, AGENT_CHARACTERS) };
}

/** Removes control characters, which could fake lines in a terminal. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "?");
}
