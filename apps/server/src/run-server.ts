import { join } from "node:path";
import { VERSION } from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import { driverProblem } from "@appdb/pods/choose-driver";
import { addDeliveries } from "./audit/add-deliveries.ts";
import { createRecordEvent } from "./audit/record-event.ts";
import { cleanHourly } from "./clean-hourly.ts";
import { composeServer } from "./compose.ts";
import { readServerConfig, SERVER_PATHS, type ServerConfig } from "./config/config.ts";
import { findPlainAddresses } from "./config/config-identity.ts";
import { keepMediaUrl } from "./config/media-url.ts";
import { lockHome, openSecret, openServerHome, removeRunning, roleLock, writeRunning } from "./config/server-home.ts";
import { controlFormat, migrate, readControlMigrations } from "./database/migrate.ts";
import { type ControlDatabase, openControlDatabase } from "./database/pool.ts";
import { openPostgres, requirePostgres } from "./database/postgres.ts";
import { addGatewayMetrics, superviseGateway } from "./gateway-process/supervise-gateway.ts";
import { startHealthChecks } from "./health/server-health.ts";
import { type Dashboard, findDashboard, readDashboard } from "./http/static.ts";
import { openFirstAccount } from "./identity/first-account.ts";
import { createMail } from "./identity/mail.ts";
import { awaitStopSignal } from "./lifecycle/await-stop-signal.ts";
import { startHeartbeat } from "./lifecycle/heartbeat.ts";
import { listenAsConfigured } from "./lifecycle/listen.ts";
import { createServerLogger } from "./lifecycle/server-logger.ts";
import { openStandardOutput } from "./lifecycle/standard-output.ts";
import { stopEach } from "./lifecycle/stop-each.ts";
import { watchHome } from "./lifecycle/watch-home.ts";
import { takeNextMasterKey } from "./operator/rotate-master-key.ts";
import { removeObjectFolders } from "./pods/database-paths.ts";
import type { KnownPods } from "./pods/host-runtime.ts";
import { openHostRuntime } from "./pods/open-host-runtime.ts";
import { type ReconcilerDeps, startReconciler } from "./reconciler/reconciler.ts";
import { givenMasterKey } from "./secrets/given-master-key.ts";
import { type MasterKey, openMasterKey } from "./secrets/master-key.ts";
import { openMediaBucket } from "./storage/media-bucket.ts";
import { isJournal, writeWelcome } from "./welcome.ts";

/** Also under the umask of a shell that has just made a backup. */
const UMASK = 0o022;

/**
 * Runs the server until SIGTERM, SIGINT or SIGHUP. Then it accepts no new requests, finishes the running ones, and stops what
 * it started. `watched` lets tests stop it at a step.
 * @throws config_invalid, home_not_writable, daemon_busy, postgres_failed, catalog_too_new, upgrade_failed, disk_full,
 * master_key_wrong, port_taken
 */
export async function runServer(watched: Pick<ReconcilerDeps, "reconcileStepDone"> = {}): Promise<void> {
  // pods read folders and control groups that the server makes; what must be private has a mode of its own
  process.umask(UMASK);
  const found = readServerConfig();
  const home = openServerHome(found.home);
  // the path without links, because other processes derive the same names from it
  const config = { ...found, home };
  const output = openStandardOutput();
  const log = createServerLogger(config.log_level, output);
  const stopped = awaitStopSignal(log);
  lockHome(home, config);
  keepMediaUrl(home, config.media);
  using _beating = startHeartbeat(config.heartbeat_file, log);
  const migrations = readControlMigrations();
  await using postgres = await openPostgres(config, home, controlFormat(migrations), log);
  await using database = openControlDatabase(postgres.dsn, log);
  // a gateway alone starts without PostgreSQL: the control plane creates its tables
  if (config.roles.every((role) => role === "gateway")) {
    const { serveGatewayAlone } = await import("./gateway-process/serve-alone.ts");
    return await serveGatewayAlone({ config, database, log, stopped });
  }
  await requirePostgres(database.pool, config);
  await migrate(database.pool, migrations, log);
  const masterKey = await makeMasterKey(database.db, config, home, log);
  // start it early, so that it is ready with the rest
  await using gateway = config.roles.includes("gateway")
    ? superviseGateway({ config, log, output, dsn: postgres.dsn, master_key: givenMasterKey(config, home) })
    : undefined;
  const mail = config.mail === undefined ? undefined : await createMail(config.mail);
  const site = { url: config.public_url ?? "" };
  const authSecret = config.auth_secret ?? openSecret(home, SERVER_PATHS.authSecret, "base64url");
  const pods: KnownPods = { isolates: undefined };
  const { app, deps } = composeServer({
    config,
    pods,
    log,
    db: database.db,
    pool: database.pool,
    postgres_failure: postgres.failure,
    site,
    mail,
    auth_secret: authSecret,
    master_key: masterKey,
    dashboard: config.roles.includes("control-plane") ? openDashboard(log) : undefined,
  });
  await using machine = config.roles.includes("reconciler") ? await openHostRuntime({ ...deps, config }) : undefined;
  pods.isolates = machine?.driver.isolates;
  const problem = machine && driverProblem(machine.driver);
  if (problem !== undefined) deps.problems.push(() => [problem]);
  pods.checkEnvironment = machine?.checkEnvironment;
  await using bucket = machine && config.media && openMediaBucket(config.media);
  await using reconciler =
    machine === undefined
      ? undefined
      : await startReconciler({
          ...deps,
          ...watched,
          machine,
          bucket,
          pool_options: database.pool.options,
          allow_private: config.webhook_private,
        });
  if (reconciler !== undefined) deps.problems.push(() => reconciler.problems());
  if (gateway !== undefined) {
    addGatewayMetrics(deps.metrics, gateway);
    deps.more_metrics.push(() => gateway.metrics());
    deps.problems.push(() => gateway.problems());
    await gateway.ready;
  }
  const open = async (options: { host: string; port: number }) => {
    await app.listen(options);
    return app.server.address();
  };
  const port = await listenAsConfigured(open, config);
  site.url = config.public_url ?? `http://${hostOf(config.host)}:${port}`;
  try {
    for (const plain of findPlainAddresses(config)) log.warn(plain, "this address is used without TLS");
    log.info({ url: site.url, version: VERSION, roles: config.roles }, "the server listens");
    if (config.roles.includes("control-plane")) {
      writeRunning(home, site.url);
      const token = await openFirstAccount(deps.db);
      const is_journal = isJournal(config.journal_stream);
      output.write(writeWelcome({ home, url: site.url, token, is_journal }));
    }
    using _cleaning = cleanHourly(deps);
    using _looking = startHealthChecks(deps.health, log);
    using homeWatch = watchHome(home, roleLock(config.roles[0] ?? "control-plane"), log);
    const reason = await Promise.race([stopped, homeWatch.noticed]);
    log.info({ reason }, "the server is stopping");
  } finally {
    await stopEach(log, {
      address: () => (config.roles.includes("control-plane") ? removeRunning(home) : undefined),
      // the gateway keeps serving kept pods
      gateway: () => (config.pods.are_kept ? gateway?.leave() : gateway?.end()),
      reconciler: () => reconciler?.stop(config.pods.are_kept ? "keep pods" : "end pods"),
      sockets: () => {
        // pods or a gateway of another process may use them
        const areUnused = gateway !== undefined && reconciler !== undefined && !config.pods.are_kept;
        return areUnused && config.media !== undefined ? removeObjectFolders(config) : undefined;
      },
      requests: () => app.close(),
      mail: () => mail?.close(),
    });
  }
}

async function makeMasterKey(db: ControlDatabase, config: ServerConfig, home: string, log: Logger): Promise<MasterKey> {
  const kept = config.master_key === undefined ? takeNextMasterKey(home) : undefined;
  const masterKey = await openMasterKey(
    { db, log, recordEvent: createRecordEvent(addDeliveries) },
    {
      current: config.master_key ?? kept?.current,
      previous: config.master_key_previous ?? kept?.previous,
      make: () => openSecret(home, SERVER_PATHS.masterKey, "base64"),
      place: join(home, SERVER_PATHS.masterKey),
    },
  );
  kept?.forgetPrevious();
  return masterKey;
}

/** The dashboard. The server works without it if it was not built. */
function openDashboard(log: Logger): Dashboard | undefined {
  const folder = findDashboard();
  if (folder !== undefined) return readDashboard(folder);
  log.warn({}, "the dashboard is not built");
  return undefined;
}

function hostOf(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
