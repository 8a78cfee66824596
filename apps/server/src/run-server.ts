import { existsSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { VERSION } from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import type { FastifyInstance } from "fastify";
import { composeServer, type KnownPods } from "./compose.ts";
import { readServerConfig, SERVER_PATHS, type ServerConfig } from "./config.ts";
import { type MasterKey, openMasterKey, toMasterKey } from "./control-plane/secrets/master-key.ts";
import { cleanHourly } from "./database/clean.ts";
import { controlFormat, migrate, readMigrations } from "./database/migrate.ts";
import { type Database, openDatabase } from "./database/pool.ts";
import { openPostgres } from "./database/postgres.ts";
import { startGateway } from "./gateway/gateway.ts";
import { findSecret, keepPort, keptPort, lockHome, openHome, openSecret, removeRunning, writeRunning } from "./home.ts";
import { type Dashboard, findDashboard, readDashboard } from "./http/static.ts";
import { openFirstAccount } from "./identity/first-account.ts";
import { createMail } from "./identity/mail.ts";
import { createLogger } from "./logger.ts";
import { openMachine } from "./pods/open-machine.ts";
import { migrateJobs } from "./reconciler/jobs.ts";
import { type ReconcilerDeps, startReconciler } from "./reconciler/reconciler.ts";

/**
 * Runs the server until SIGTERM or SIGINT: takes no new request then, ends those that are under way, and stops what it
 * started.
 * `watched` is for tests, which stop it at a step.
 * @throws config_invalid, home_not_writable, daemon_busy, postgres_failed, catalog_too_new, upgrade_failed, disk_full, master_key_wrong,
 *   port_taken
 */
export async function runServer(watched: Pick<ReconcilerDeps, "reconcileStepDone"> = {}): Promise<void> {
  const found = readServerConfig();
  const home = openHome(found.home);
  // the path without links: of it names are made that others make as well
  const config = { ...found, home };
  const log = createLogger(config.log_level);
  const stopped = listenForStop(log);
  // several servers may share a PostgreSQL of one's own; the embedded one has one owner
  if (config.database.url === undefined) lockHome(home);
  const migrations = readMigrations(findMigrations());
  await using postgres = await openPostgres(config, home, controlFormat(migrations), log);
  await using database = openDatabase(postgres.dsn, log);
  // a gateway alone starts while PostgreSQL is down: its tables are the control plane's to make
  const is_gateway = config.roles.every((role) => role === "gateway");
  if (!is_gateway) {
    await migrate(database.pool, migrations, log);
    await migrateJobs(database.pool, log);
  }
  const master_key = is_gateway ? givenMasterKey(config, home) : await makeMasterKey(database.db, config, home, log);
  const mail = config.mail === undefined ? undefined : await createMail(config.mail);
  const site = { url: config.public_url ?? "" };
  const auth_secret = config.auth_secret ?? openSecret(home, SERVER_PATHS.authSecret, "base64url");
  const pods: KnownPods = { isolates: undefined };
  const { app, deps } = composeServer({
    config,
    pods,
    log,
    db: database.db,
    pool: database.pool,
    site,
    mail,
    auth_secret,
    master_key,
    dashboard: config.roles.includes("control-plane") ? openDashboard(log) : undefined,
  });
  await using machine = config.roles.includes("reconciler") ? await openMachine({ ...deps, config }) : undefined;
  pods.isolates = machine?.driver.isolates;
  pods.checkEnvironment = machine?.checkEnvironment;
  await using reconciler =
    machine === undefined
      ? undefined
      : await startReconciler({
          ...{ ...deps, ...watched, machine, pool_options: database.pool.options },
          allow_private: config.webhook_private,
        });
  await using gateway = config.roles.includes("gateway")
    ? await startGateway({
        ...deps,
        config: config.gateway,
        trusted_proxies: config.trusted_proxies,
        master_key,
        place: config,
        ...(is_gateway ? { state_file: join(home, SERVER_PATHS.gateway) } : {}),
      })
    : undefined;
  if (gateway !== undefined) deps.problems.push(() => gateway.problems());
  const port = await listen(app, config, home);
  site.url = config.public_url ?? `http://${hostOf(config.host)}:${port}`;
  try {
    log.info({ url: site.url, version: VERSION, roles: config.roles }, "the server listens");
    if (config.roles.includes("control-plane")) {
      writeRunning(home, site.url);
      await printWelcome(deps.db, site.url);
    }
    using _cleaning = cleanHourly(deps);
    const reason = await stopped;
    log.info({ reason }, "the server stops");
  } finally {
    if (config.roles.includes("control-plane")) removeRunning(home);
    await gateway?.[Symbol.asyncDispose]();
    await reconciler?.stop(config.pods.are_kept ? "keep pods" : "end pods");
    await app.close();
    mail?.close();
  }
}

async function makeMasterKey(db: Database, config: ServerConfig, home: string, log: Logger): Promise<MasterKey> {
  return await openMasterKey(
    { db, log },
    {
      current: config.master_key ?? findSecret(home, SERVER_PATHS.masterKey),
      previous: config.master_key_previous,
      make: () => openSecret(home, SERVER_PATHS.masterKey, "base64"),
      place: join(home, SERVER_PATHS.masterKey),
    },
  );
}

/** @throws config_invalid when there is none: a gateway makes none */
function givenMasterKey(config: ServerConfig, home: string): MasterKey {
  const found = config.master_key ?? findSecret(home, SERVER_PATHS.masterKey);
  if (found !== undefined) return toMasterKey(found);
  throw appError("config_invalid", {
    detail:
      "The settings of the server are not valid: SERVICE_MASTER_KEY: is needed by a gateway without a control plane.",
    hint: "Give it the control plane's: SERVICE_MASTER_KEY or SERVICE_MASTER_KEY_FILE.",
    meta: { settings: ["SERVICE_MASTER_KEY"] },
  });
}

/** The dashboard, unless it was not built: the rest of the server works without. */
function openDashboard(log: Logger): Dashboard | undefined {
  const folder = findDashboard();
  if (folder !== undefined) return readDashboard(folder);
  log.warn({}, "the dashboard is not built");
  return undefined;
}

/** The link that makes the first account is for whoever started the server: it is printed, never logged. An empty line
 *  tells a program that started it that this is all. */
async function printWelcome(db: Parameters<typeof openFirstAccount>[0], url: string): Promise<void> {
  const token = await openFirstAccount(db);
  const lines = [`Dashboard: ${url}`];
  if (token !== undefined) lines.push(`Make the first account: ${url}/setup?token=${token}`);
  process.stdout.write(`${lines.join("\n")}\n\n`);
}

/** Listens on the port that is configured, else on the one that the home had, else on a free one. */
async function listen(app: FastifyInstance, config: ServerConfig, home: string): Promise<number> {
  // the home's port is that of its control plane
  const is_kept = config.port === 0 && config.roles.includes("control-plane");
  const before = is_kept ? keptPort(home) : 0;
  const wanted = config.port === 0 ? [before, 0] : [config.port];
  for (const port of wanted) {
    try {
      await app.listen({ host: config.host, port });
      const address = app.server.address();
      if (address === null || typeof address === "string") throw new Error("The server listens on no TCP port.");
      if (is_kept && address.port !== before) keepPort(home, address.port);
      return address.port;
    } catch (cause) {
      const is_taken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
      if (!is_taken) throw cause;
    }
  }
  throw appError("port_taken", {
    detail: `Port ${config.port} on ${config.host} is in use by another program.`,
    hint: "Set SERVICE_PORT to another one, or to 0 to have one chosen.",
    meta: { host: config.host, port: config.port },
  });
}

function hostOf(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Beside the bundle, or in the sources. */
function findMigrations(): string {
  const places = ["server-migrations", "../migrations"].map((name) => join(import.meta.dirname, name));
  const found = places.find((folder) => existsSync(folder));
  if (found === undefined) throw new Error(`The migrations are in none of ${places.join(", ")}.`);
  return found;
}

function listenForStop(log: Logger): Promise<string> {
  return new Promise((resolve) => {
    let is_stopping = false;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        // a second one means it: whoever sends it has waited long enough
        if (is_stopping) process.exit(130);
        is_stopping = true;
        resolve(signal);
      });
    }
    process.on("SIGHUP", () => log.info({}, "SIGHUP changes nothing: settings are read at the start"));
  });
}
