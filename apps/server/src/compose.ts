import type { Logger } from "@appdb/engine/ports";
import type { FastifyInstance } from "fastify";
import type pg from "pg";
import type { ServerConfig } from "./config.ts";
import { addAccountRoutes } from "./control-plane/account/routes.ts";
import type { RecordEvent } from "./control-plane/events/event.ts";
import { addInvitationRoutes } from "./control-plane/invitations/routes.ts";
import { addMemberRoutes } from "./control-plane/members/routes.ts";
import { addOrganizationRoutes } from "./control-plane/organizations/routes.ts";
import { createFindOrg } from "./control-plane/organizations/store.ts";
import type { Database } from "./database/pool.ts";
import { type ControlRoutes, createControlRoutes, type FindOrg } from "./http/checked-route.ts";
import { addHealthRoutes } from "./http/health.ts";
import { createAnswerSeal } from "./http/idempotency.ts";
import { addOpenapi } from "./http/openapi.ts";
import { createHttpServer } from "./http/server.ts";
import { addDashboard, type Dashboard } from "./http/static.ts";
import { type Attempts, createAttempts } from "./identity/attempts.ts";
import { AUTH_BODIES } from "./identity/auth-bodies.ts";
import { createAuthHandlers } from "./identity/auth-handlers.ts";
import type { Site } from "./identity/csrf.ts";
import { createIdentity, type Identity } from "./identity/identity.ts";
import type { Mail } from "./identity/mail.ts";
import { mountAuth } from "./identity/mount.ts";
import type { VerifyKey } from "./identity/principal.ts";
import type { Secret } from "./secret.ts";

/** Everything that requests work with. */
export interface ServerDeps {
  readonly config: ServerConfig;
  readonly log: Logger;
  readonly db: Database;
  readonly pool: pg.Pool;
  readonly site: Site;
  readonly mail: Mail | undefined;
  readonly attempts: Attempts;
  readonly identity: Identity;
  readonly findOrg: FindOrg;
  readonly recordEvent: RecordEvent;
}

export interface ComposeInput {
  readonly config: ServerConfig;
  readonly log: Logger;
  readonly db: Database;
  readonly pool: pg.Pool;
  /** Its address is set when the server listens, before the first request. */
  readonly site: Site;
  readonly mail: Mail | undefined;
  readonly auth_secret: Secret;
  /** Absent where nobody looks at pages. */
  readonly dashboard?: Dashboard | undefined;
}

export interface ComposedServer {
  readonly deps: ServerDeps;
  readonly app: FastifyInstance;
  readonly routes: ControlRoutes;
}

/** Builds the control plane; nothing is started here. */
export function composeServer(input: ComposeInput): ComposedServer {
  const { config, log, db, pool, site, mail } = input;
  const recordEvent: RecordEvent = async (_tx, event) => {
    log.info({ action: event.action, org: event.org_id, outcome: event.outcome }, "event");
  };
  // keys come with their module
  const verifyKey: VerifyKey = async () => undefined;
  const attempts = createAttempts(db);
  const identity = createIdentity({
    db,
    log,
    site,
    secret: input.auth_secret,
    oidc: config.oidc,
    sign_up: config.sign_up,
    mail,
    verifyKey,
  });
  const findOrg = createFindOrg(db);
  const deps: ServerDeps = { config, log, db, pool, site, mail, attempts, identity, findOrg, recordEvent };
  const app = createHttpServer({ log, site, trusted_proxies: config.trusted_proxies, identity, findOrg });
  const routes = createControlRoutes(app, { db, seal: createAnswerSeal(input.auth_secret) });
  addHealthRoutes(app, deps);
  addOpenapi(app, site, AUTH_BODIES);
  mountAuth(
    app,
    identity,
    createAuthHandlers({ ...deps, sign_up: config.sign_up, can_mail: mail !== undefined }),
    site,
  );
  addAccountRoutes(routes, deps);
  addOrganizationRoutes(routes, deps);
  addDashboard(app, input.dashboard);
  addMemberRoutes(routes, deps);
  addInvitationRoutes(routes, deps);
  return { deps, app, routes };
}
