import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { type DaemonFile, HOME_PATHS } from "@appdb/contract/home";
import { VERSION } from "@appdb/contract/version";
import { catalogFormat } from "@appdb/engine/catalog/ensure-catalog";
import type { Logger } from "@appdb/engine/ports";
import { isSameOutage } from "@appdb/postgres/cluster/start-failure";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { endCommand } from "@appdb/system/processes/end-command";
import { recordPlace, refuseCopiedHome } from "@appdb/system/processes/home-copy";
import { acquireHomeLock, ownsHome } from "@appdb/system/processes/home-lock";
import type { DaemonDeps } from "../composition/compose.ts";
import { type DaemonConfig, readDaemonConfig } from "../config/config.ts";
import { createPostgres } from "../daemon/create-postgres.ts";
import { listenForStop, type StopRequest } from "../daemon/listen-for-stop.ts";
import { createProgramLogger } from "../daemon/logger.ts";
import { openDaemonHome, openToken, removeDaemonFile, writeDaemonFile } from "../daemon/open-home.ts";
import { RotatingFile } from "../daemon/rotating-file.ts";
import type { ServiceProgram } from "../services/fork-service.ts";

const LOG_BYTES = 5_000_000;
const LOG_FILES = 3;
/** How long a new daemon waits for one that is ending. */
const TAKEOVER_MS = 60_000;
const TAKEOVER_POLL_MS = 20;
const LOOK_AT_HOME_MS = 1_000;
const PARK_EVERY_MS = 1_000;
/** A killed test run leaves databases for this time. */
const SWEEP_EVERY_MS = 5_000;
/** A local database is parked after this time without use. */
const UNUSED_MS = 10_000;
const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 30_000;

/**
 * Runs the daemon of the home until it is stopped by its API, SIGTERM, SIGINT or SIGHUP. Returns 0 immediately when
 * another daemon has the home; the starter finds that one.
 * @throws config_invalid, home_not_writable, daemon_failed, postgres_failed when there is no PostgreSQL to start
 */
export async function runLocal(program: ServiceProgram): Promise<number> {
  const config = readDaemonConfig();
  const home = openDaemonHome(config.home);
  if ((await acquireHome(home)) === "taken") return 0;
  removeDaemonFile(home);
  using logFile = new RotatingFile({
    path: join(home, HOME_PATHS.daemonLog),
    max_bytes: LOG_BYTES,
    keep: LOG_FILES,
  });
  const log = createProgramLogger(logFile, config.log_level);
  try {
    await runDaemon(config, home, program, log);
    return 0;
  } catch (error) {
    log.error({ err: error }, "the daemon failed");
    throw error;
  }
}

async function runDaemon(config: DaemonConfig, home: string, program: ServiceProgram, log: Logger): Promise<void> {
  const stop = listenForStop("daemon", log);
  using _watch = watchHome(home, log, stop);
  const migrations = readCatalogMigrations();
  await using postgres = await createPostgres(config, home, catalogFormat(migrations), log);
  // creating a cluster is the slowest step: it runs while the rest of the program is loaded
  const starting = postgres.start();
  starting.catch((error: unknown) => log.error({ err: error }, "PostgreSQL did not start"));
  const [{ composeDaemon }, { createDaemonApi: createApi }] = await Promise.all([
    import("../composition/compose.ts"),
    import("../api/daemon-server.ts"),
  ]);
  const token = openToken(home);
  const deps = composeDaemon({ config, home, token, log, postgres, migrations, program, requestStop: stop.request });
  const api = createApi(deps);
  try {
    const port = Number(new URL(await api.listen({ host: "127.0.0.1", port: 0 })).port);
    writeDaemonFile(home, { pid: process.pid, port, started_at: deps.started_at, version: VERSION });
    log.info({ port, version: VERSION }, "the daemon listens");
    const resumed = resumeWork(deps, starting, stop.requested, log);
    const parking = repeat(stop.requested, PARK_EVERY_MS, () => parkDatabases(deps));
    const sweeping = repeat(stop.requested, SWEEP_EVERY_MS, () => sweepProcesses(deps));
    const reason = await stop.requested;
    log.info({ reason }, "the daemon stops");
    await resumed;
    await parking;
    await sweeping;
  } finally {
    // belongs to another daemon if the home was removed and recreated
    if (ownsHome(join(home, HOME_PATHS.locks))) removeDaemonFile(home);
    await api.close();
    await deps.scratch.close();
    await deps.services[Symbol.asyncDispose]();
    await deps.closeReads();
    await deps.closeWrites();
    await deps.closeMedia();
    await deps.databases[Symbol.asyncDispose]();
  }
  await postgres.stop();
  log.info({}, "the daemon has stopped");
}

/** Ends a daemon whose home was removed or taken by another daemon, because two must not run one cluster. */
function watchHome(home: string, log: Logger, stop: StopRequest): Disposable {
  const timer = setInterval(() => {
    if (ownsHome(join(home, HOME_PATHS.locks))) return;
    clearInterval(timer);
    log.error({ home }, "the home was removed or belongs to another daemon, so this daemon stops");
    stop.request();
  }, LOOK_AT_HOME_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Closes connections of unused databases, because PostgreSQL's number of connections is limited. */
async function parkDatabases({ databases, log, services }: DaemonDeps): Promise<void> {
  await databases
    .parkIdle(UNUSED_MS, (name) => !services.isServing(name))
    .catch((error: unknown) => {
      log.warn({ err: error }, "parking unused databases failed");
    });
}

/** Deletes databases and functions whose process has ended. */
async function sweepProcesses({ log, scratch, sweepPrograms }: DaemonDeps): Promise<void> {
  await sweepPrograms().catch((error: unknown) => {
    log.warn({ err: error }, "looking for ended programs failed");
  });
  await scratch.sweep().catch((error: unknown) => {
    log.warn({ err: error }, "looking for scratch databases failed");
  });
}

/** Repeats work with a pause before each time, until the daemon stops. */
async function repeat(stopped: Promise<string>, everyMs: number, work: () => Promise<void>): Promise<void> {
  const abort = new AbortController();
  void stopped.then(() => abort.abort());
  while (!abort.signal.aborted) {
    await sleep(everyMs, undefined, { signal: abort.signal }).catch(() => undefined);
    if (abort.signal.aborted) return;
    await work();
  }
}

/** Resumes work of the previous daemon: services that must run, and unfinished fills. */
async function resumeWork(
  deps: DaemonDeps,
  starting: Promise<void>,
  stopped: Promise<string>,
  log: Logger,
): Promise<void> {
  try {
    deps.runtimes.clean(deps.clock.now());
    if (!(await waitForPostgres(deps, starting, stopped, log))) return;
    await deps.services.startAll();
    for (const name of await deps.scratch.listOthers()) await deps.databases.resume(name);
  } catch (error) {
    log.error({ err: error }, "earlier work could not be resumed");
  }
}

/**
 * Services wait for a PostgreSQL that was killed during its start or is not up yet. False when the daemon must stop.
 */
async function waitForPostgres(
  deps: DaemonDeps,
  starting: Promise<void>,
  stopped: Promise<string>,
  log: Logger,
): Promise<boolean> {
  let start = starting;
  let before: unknown;
  for (let pauseMs = FIRST_RETRY_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_RETRY_MS)) {
    try {
      await start;
      return true;
    } catch (error) {
      if (!isSameOutage(before, error)) log.warn({ err: error }, "earlier work waits for PostgreSQL");
      before = error;
    }
    const abort = new AbortController();
    const pause = sleep(pauseMs, "again", { signal: abort.signal }).catch(() => "stopped");
    const next = await Promise.race([pause, stopped]);
    abort.abort();
    if (next !== "again") return false;
    start = deps.postgres.start();
  }
}

/**
 * Locks the home and waits for a daemon that is ending. `taken` when another daemon is listening.
 * @throws daemon_failed, home_copied
 */
async function acquireHome(home: string): Promise<"acquired" | "taken"> {
  const until = Date.now() + TAKEOVER_MS;
  for (;;) {
    const locks = join(home, HOME_PATHS.locks);
    refuseCopiedHome(home, locks, "daemon");
    const lock = acquireHomeLock(locks);
    if (lock.outcome === "acquired") {
      recordPlace(home, locks);
      return "acquired";
    }
    if (readDaemonPid(home) === lock.owner.pid) return "taken";
    if (Date.now() > until) {
      throw appError("daemon_failed", {
        detail: `The process ${lock.owner.pid} holds the home ${home} and does not respond.`,
        hint: `See logs/daemon.log in the home, then end it: ${endCommand(lock.owner.pid)}`,
        meta: { pid: lock.owner.pid, home },
      });
    }
    await sleep(TAKEOVER_POLL_MS);
  }
}

function readDaemonPid(home: string): number | undefined {
  const path = join(home, HOME_PATHS.daemon);
  if (!existsSync(path)) return undefined;
  try {
    return (JSON.parse(readFileSync(path, "utf8")) as Partial<DaemonFile>).pid;
  } catch {
    // removed or replaced between the reads; the next attempt decides
    return undefined;
  }
}
