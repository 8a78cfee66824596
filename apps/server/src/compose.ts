import { join } from "node:path";
import { AppError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import { createLocalAccess } from "@appdb/pods/driver/local-access";
import type { PodAccess } from "@appdb/pods/driver/pod-driver";
import { createTenantDocuments, type TenantDocuments } from "@appdb/python-runtime/documents/tenant-documents";
import type { BlobStore } from "@appdb/system/blobs/blob-store";
import { createDiskBlobs } from "@appdb/system/blobs/disk-blobs";
import type { Secret } from "@appdb/system/secret";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type pg from "pg";
import { Registry } from "prom-client";
import { addDeliveries } from "./audit/add-deliveries.ts";
import type { RecordEvent } from "./audit/event.ts";
import { createRecordEvent } from "./audit/record-event.ts";
import { SERVER_PATHS, type ServerConfig } from "./config/config.ts";
import { addAccountRoutes } from "./control-plane/account/account-routes.ts";
import { mountAuth } from "./control-plane/account/mount-auth.ts";
import { addBlobRoutes } from "./control-plane/blobs/blobs-routes.ts";
import { addDatabaseRoutes } from "./control-plane/databases/databases-routes.ts";
import { addDeployRoutes } from "./control-plane/deploys/deploys-routes.ts";
import { EventStreams } from "./control-plane/events/event-stream.ts";
import { addEventRoutes } from "./control-plane/events/events-routes.ts";
import { addInvitationRoutes } from "./control-plane/invitations/invitations-routes.ts";
import { addKeyRoutes } from "./control-plane/keys/keys-routes.ts";
import { createVerifyKey } from "./control-plane/keys/verify-key.ts";
import { addLogRoutes } from "./control-plane/logs/logs-routes.ts";
import { addMediaRoutes } from "./control-plane/media/media-routes.ts";
import { addMemberRoutes } from "./control-plane/members/members-routes.ts";
import { addOperationRoutes } from "./control-plane/operations/operations-routes.ts";
import { addOrganizationRoutes } from "./control-plane/organizations/organizations-routes.ts";
import { createFindOrg } from "./control-plane/organizations/organizations-store.ts";
import { addPsqlRoutes } from "./control-plane/psql/psql-routes.ts";
import { addProgramRoutes } from "./control-plane/rows/program-routes.ts";
import { addRowRoutes } from "./control-plane/rows/rows-routes.ts";
import { addTableChangeRoutes } from "./control-plane/rows/table-change-routes.ts";
import { addSchemaRoutes } from "./control-plane/schema/schema-routes.ts";
import { addSecretRoutes } from "./control-plane/secrets/secrets-routes.ts";
import { addServiceRoutes } from "./control-plane/services/services-routes.ts";
import { addWebhookRoutes } from "./control-plane/webhooks/webhooks-routes.ts";
import { addWorkRoutes } from "./control-plane/work/work-routes.ts";
import { createNotifications, type Notifications } from "./database/notifications.ts";
import type { ControlDatabase } from "./database/pool.ts";
import { gatewaySource } from "./edge/address.ts";
import { createKeySnapshots, type KeySnapshots } from "./edge/key-snapshots.ts";
import { createKeyUses, type KeyUses } from "./edge/key-uses.ts";
import { checkDatabase, checkDisk } from "./health/checks.ts";
import { createHealth, type ServerHealth, type TellProblems } from "./health/server-health.ts";
import { addDrain } from "./http/drain.ts";
import { addHealthRoutes } from "./http/health-routes.ts";
import { addOpenapi } from "./http/openapi.ts";
import { createHttpServer } from "./http/server.ts";
import { addDashboard, type Dashboard } from "./http/static.ts";
import type { PasswordHasher } from "./identity/auth.ts";
import { AUTH_BODIES } from "./identity/auth-bodies.ts";
import { createAuthHandlers } from "./identity/auth-handlers.ts";
import { createIdentity, type Identity } from "./identity/identity.ts";
import type { Mail } from "./identity/mail.ts";
import { type Attempts, createAttempts } from "./identity/second-factor/attempts.ts";
import type { Site } from "./identity/tokens/csrf.ts";
import { AnswerMemory } from "./pods/answer-memory.ts";
import type { KnownPods } from "./pods/host-runtime.ts";
import { createLocateVolume } from "./pods/locate-volume.ts";
import { BodyBytes } from "./requests/body-bytes.ts";
import { CallerLimits } from "./requests/caller-limits.ts";
import { type ControlRoutes, createControlRoutes, type FindOrg } from "./requests/checked-route.ts";
import { createAnswerSeal } from "./requests/idempotency.ts";
import { LineStreams } from "./requests/line-streams.ts";
import { createEnvelope, type Envelope } from "./secrets/envelope.ts";
import type { MasterKey } from "./secrets/master-key.ts";
/** The dependencies of request handlers. */
export interface ServerDeps {
  readonly config: ServerConfig;
  readonly log: Logger;
  readonly db: ControlDatabase;
  readonly pool: pg.Pool;
  readonly site: Site;
  readonly mail: Mail | undefined;
  readonly attempts: Attempts;
  readonly identity: Identity;
  readonly findOrg: FindOrg;
  readonly recordEvent: RecordEvent;
  readonly envelope: Envelope;
  readonly master_key: MasterKey;
  readonly notifications: Notifications;
  readonly key_uses: KeyUses;
  readonly blobs: BlobStore;
  readonly pods: KnownPods;
  readonly pod_access: PodAccess;
  readonly answer_memory: AnswerMemory;
  /** Reads documents sent by tenants, within bounds. */
  readonly documents: TenantDocuments;
  readonly snapshots: KeySnapshots;
  /** The metrics of this process in `/metrics`. */
  readonly metrics: Registry;
  /** The parts that `/health` asks. Parts that start later append theirs. */
  readonly problems: TellProblems[];
  readonly health: ServerHealth;
  /** The metrics of other processes in `/metrics`. */
  readonly more_metrics: (() => Promise<string>)[];
}

export interface ServerInput {
  readonly config: ServerConfig;
  readonly log: Logger;
  readonly db: ControlDatabase;
  readonly pool: pg.Pool;
  /** Why the server cannot restart its own PostgreSQL. */
  readonly postgres_failure?: (() => string | undefined) | undefined;
  /** The server sets its address when it listens, before the first request. */
  readonly site: Site;
  readonly mail: Mail | undefined;
  readonly auth_secret: Secret;
  readonly passwords?: PasswordHasher | undefined;
  readonly master_key: MasterKey;
  /** Undefined if the server does not serve the dashboard. */
  readonly dashboard?: Dashboard | undefined;
  /** Set once this server's pod driver is known. Undefined if another server runs the pods. */
  readonly pods?: KnownPods | undefined;
}

export interface ComposedServer {
  readonly deps: ServerDeps;
  readonly app: FastifyInstance;
  readonly routes: ControlRoutes;
}

/** Builds the control plane without starting anything. */
export function composeServer(input: ServerInput): ComposedServer {
  const { config, log, db, pool, site, mail } = input;
  const recordEvent = createRecordEvent(addDeliveries);
  const envelope = createEnvelope(input.master_key);
  const notifications = createNotifications(pool.options, log);
  const keyUses = createKeyUses(db, log);
  const verifyKey = createVerifyKey({ db, uses: keyUses });
  const attempts = createAttempts(db);
  const identity = createIdentity({
    db,
    log,
    site,
    secret: input.auth_secret,
    oidc: config.oidc,
    sign_up: config.sign_up,
    mail,
    session_lives: { browser_s: config.identity.browser_session_s, cli_s: config.identity.cli_session_s },
    verifyKey,
    passwords: input.passwords,
  });
  const findOrg = createFindOrg(db);
  const problems: TellProblems[] = [() => checkDatabase(db, input.postgres_failure), () => checkDisk({ config })];
  const deps: ServerDeps = {
    config,
    log,
    db,
    pool,
    site,
    mail,
    attempts,
    identity,
    findOrg,
    recordEvent,
    envelope,
    notifications,
    key_uses: keyUses,
    master_key: input.master_key,
    blobs: createDiskBlobs(join(config.home, SERVER_PATHS.blobs)),
    documents: createTenantDocuments(),
    snapshots: createKeySnapshots({ db, log, notifications, master_key: input.master_key }),
    metrics: new Registry(),
    problems,
    health: createHealth({ tells: problems, clock: { now: Date.now }, log }),
    more_metrics: [],
    pod_access: createLocalAccess(createLocateVolume(config)),
    answer_memory: new AnswerMemory(),
    pods: input.pods ?? { isolates: config.pods.driver === "process" ? false : undefined },
  };
  const limits = new CallerLimits(config.quotas.api);
  const bodies = new BodyBytes();
  const app = createHttpServer({
    log,
    site,
    trusted_proxies: config.trusted_proxies,
    identity,
    findOrg,
    limits,
    bodies,
  });
  const routes = createControlRoutes(app, { db, seal: createAnswerSeal(input.auth_secret) });
  addDrain(app);
  app.addHook("onClose", async () => {
    await notifications[Symbol.asyncDispose]();
    await keyUses[Symbol.asyncDispose]();
  });
  addHealthRoutes(app, deps);
  if (!config.roles.includes("control-plane")) return { deps, app, routes };
  addOpenapi(app, site, AUTH_BODIES);
  mountAuth(
    app,
    identity,
    createAuthHandlers({
      ...deps,
      sign_up: config.sign_up,
      can_mail: mail !== undefined,
      confirm_s: config.identity.confirm_s,
    }),
    site,
  );
  addAccountRoutes(routes, deps);
  addOrganizationRoutes(routes, deps);
  addResourceRoutes(app, routes, deps);
  addDashboard(app, input.dashboard, gatewaySource(config));
  addMemberRoutes(routes, deps);
  addInvitationRoutes(routes, deps);
  return { deps, app, routes };
}

/** Adds routes of keys, secrets, databases, operations, events and webhooks. Their streams end with the server. */
function addResourceRoutes(app: FastifyInstance, routes: ControlRoutes, deps: ServerDeps): void {
  const stopping = new AbortController();
  const streaming = { ...deps, mayStillRead: (request: FastifyRequest) => mayStillRead(deps, request) };
  const streams = new EventStreams(streaming);
  const lineStreams = new LineStreams(streaming);
  addKeyRoutes(routes, deps);
  addSecretRoutes(routes, deps);
  addDatabaseRoutes(routes, deps);
  addBlobRoutes(routes, deps);
  addLogRoutes(routes, { ...deps, line_streams: lineStreams });
  addSchemaRoutes(routes, { ...deps, line_streams: lineStreams });
  addWorkRoutes(routes, { ...deps, line_streams: lineStreams });
  addServiceRoutes(routes, { ...deps, line_streams: lineStreams });
  addDeployRoutes(routes, deps);
  addRowRoutes(routes, streaming);
  addPsqlRoutes(routes, { ...deps, line_streams: lineStreams });
  addProgramRoutes(routes, deps);
  addTableChangeRoutes(routes, { ...deps, line_streams: lineStreams });
  addMediaRoutes(routes, deps);
  addOperationRoutes(routes, { ...deps, stopping: stopping.signal });
  addEventRoutes(routes, { ...deps, streams });
  addWebhookRoutes(routes, { ...deps, allow_private: deps.config.webhook_private });
  app.addHook("preClose", async () => {
    stopping.abort();
    streams.end();
    lineStreams.end();
  });
}

/** Whether the stream's reader still has a valid session or key and belongs to the organization. */
async function mayStillRead({ identity, findOrg }: ServerDeps, request: FastifyRequest): Promise<boolean> {
  try {
    const { principal } = await identity.resolve(request);
    if (principal === undefined || request.org === undefined) return false;
    const found = await findOrg(principal, request.org.name);
    return found !== undefined && found.suspension == null;
  } catch (error) {
    if (error instanceof AppError && error.code === "unauthorized") return false;
    throw error;
  }
}
