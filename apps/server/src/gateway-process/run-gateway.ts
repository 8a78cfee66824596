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

/** Requests ask nothing of PostgreSQL; what changes is read by few. */
const CONNECTIONS = 4;

/**
 * Runs the gateway that a server has started, until SIGTERM or SIGINT or until its home is gone. What it logs is printed by the server.
 * @throws config_invalid, home_not_writable, daemon_busy when the home has such a gateway, port_taken
 */
export async function runGateway(): Promise<void> {
  const found = readServerConfig();
  const config = { ...found, home: openServerHome(found.home) };
  const lines = createLogLines();
  const log = createServerLogger(config.log_level, lines);
  const stopped = awaitStopSignal(log);
  lockGateway(config.home);
  // all organizations' requests pass here: while one keeps the processors busy, those of others wait for this process
  raisePriority(log);
  using _sockets = goneWithHome(config);
  const { url } = config.database;
  if (url === undefined) throw new Error("The gateway was not told where PostgreSQL is.");
  const masterKey = givenMasterKey(config, config.home);
  const program = findGatewayProgram().file;
  const digest = digestGateway({ config, dsn: url.reveal(), master_key: masterKey, program });
  await using database = openControlDatabase(url.reveal(), log, CONNECTIONS);
  await using composed = await composeGateway({ config, master_key: toMasterKey(masterKey), database, log });
  const server = createOperatorServer({ composed, db: database.db, log }, { lines, digest });
  await using control = await openControlSocket(config, server);
  log.info({ version: VERSION }, "the gateway serves");
  using gone = watchHome(config.home, GATEWAY_LOCK, log);
  const reason = await Promise.race([stopped, gone.noticed]);
  log.info({ reason }, "the gateway stops");
  await composed[Symbol.asyncDispose]();
  await control[Symbol.asyncDispose]();
}

/** @throws daemon_busy */
function lockGateway(home: string): void {
  const lock = tryLock(join(home, SERVER_PATHS.locks), GATEWAY_LOCK);
  if (lock.outcome === "acquired") return;
  throw appError("daemon_busy", {
    detail: `A gateway of the home ${home} runs already: process ${lock.owner.pid}.`,
    hint: "Stop the server that has started it.",
    meta: { home, pid: lock.owner.pid },
  });
}

/** Sockets do not lie in the home, and those of a gateway that was killed stay for the next one: with the home gone, none comes. */
function goneWithHome({ home, runtime_base: runtimeBase }: PodServerPaths): Disposable {
  const folder = doorFolder({ home, runtime_base: runtimeBase });
  return {
    [Symbol.dispose]() {
      const owner = findLockOwner(join(home, SERVER_PATHS.locks), GATEWAY_LOCK);
      if (owner === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}
