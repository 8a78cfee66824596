import { rmSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { VERSION } from "@appdb/contract/version";
import { findLockOwner, tryLock } from "@appdb/system/processes/numbered-lock";
import { raisePriority } from "@appdb/system/processes/raise-priority";
import { readServerConfig, SERVER_PATHS } from "../config/config.ts";
import { openServerHome } from "../config/server-home.ts";
import { openControlDatabase } from "../database/pool.ts";
import { doorFolder } from "../edge/admin-socket.ts";
import { awaitStopSignal } from "../lifecycle/await-stop-signal.ts";
import { createServerLogger } from "../lifecycle/server-logger.ts";
import { watchHome } from "../lifecycle/watch-home.ts";
import type { PodServerPaths } from "../pods/database-paths.ts";
import { givenMasterKey } from "../secrets/given-master-key.ts";
import { toMasterKey } from "../secrets/master-key.ts";
import { composeGateway } from "./compose-gateway.ts";
import { GATEWAY_LOCK, openControlSocket } from "./control-socket.ts";
import { findGatewayProgram } from "./find-program.ts";
import { createLogLines } from "./log-lines.ts";
import { createOperatorServer } from "./operator-server.ts";
import { digestGateway } from "./settings-digest.ts";

/** Few connections suffice: requests use no PostgreSQL, and only changes are read. */
const CONNECTIONS = 4;

/**
 * Runs a gateway that a server started, until SIGTERM, SIGINT, or the home is removed. The server prints its log.
 * @throws config_invalid, home_not_writable, port_taken; daemon_busy when the home has such a gateway
 */
export async function runGateway(): Promise<void> {
  const found = readServerConfig();
  const config = { ...found, home: openServerHome(found.home) };
  const lines = createLogLines();
  const log = createServerLogger(config.log_level, lines);
  const stopped = awaitStopSignal(log);
  lockGateway(config.home);
  // all organizations share this process: a pod that uses all CPUs must not delay it
  raisePriority(log);
  using _sockets = stopWithHome(config);
  const { url } = config.database;
  if (url === undefined) throw new Error("The gateway did not get the address of PostgreSQL.");
  const masterKey = givenMasterKey(config, config.home);
  const program = findGatewayProgram().file;
  const digest = digestGateway({ config, dsn: url.reveal(), master_key: masterKey, program });
  await using database = openControlDatabase(url.reveal(), log, CONNECTIONS);
  await using composed = await composeGateway({ config, master_key: toMasterKey(masterKey), database, log });
  const server = createOperatorServer({ composed, db: database.db, log }, { lines, digest });
  await using control = await openControlSocket(config, server);
  log.info({ version: VERSION }, "the gateway is ready");
  using homeWatch = watchHome(config.home, GATEWAY_LOCK, log);
  const reason = await Promise.race([stopped, homeWatch.noticed]);
  log.info({ reason }, "the gateway is stopping");
  await composed[Symbol.asyncDispose]();
  await control[Symbol.asyncDispose]();
}

/** @throws daemon_busy */
function lockGateway(home: string): void {
  const lock = tryLock(join(home, SERVER_PATHS.locks), GATEWAY_LOCK);
  if (lock.outcome === "acquired") return;
  throw appError("daemon_busy", {
    detail: `A gateway of the home ${home} is already running: process ${lock.owner.pid}.`,
    hint: "Stop the server that started it.",
    meta: { home, pid: lock.owner.pid },
  });
}

/** Removes sockets when the home is removed: they are outside of it, and only a later gateway would reuse them. */
function stopWithHome({ home, runtime_base: runtimeBase }: PodServerPaths): Disposable {
  const folder = doorFolder({ home, runtime_base: runtimeBase });
  return {
    [Symbol.dispose]() {
      const owner = findLockOwner(join(home, SERVER_PATHS.locks), GATEWAY_LOCK);
      if (owner === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}
