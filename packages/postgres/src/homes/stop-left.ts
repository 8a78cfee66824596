import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { acquireHomeLock } from "@appdb/system/processes/home-lock";
import { isProcessAlive } from "@appdb/system/processes/process-identity";
import { nameRuntimeFolder } from "../cluster/runtime-folder.ts";
import { clearStaleLocks, findLeftServer } from "../cluster/stale-locks.ts";
import { clusterFolders, type EmptyHomeInput } from "./empty-home.ts";

/**
 * Ends the PostgreSQL of a home whose daemon was killed, and returns its pid. Undefined when none runs, and when a daemon
 * has the home: that one ends or takes over the server. The home stays locked until this process ends.
 * @throws daemon_busy when the server does not end
 */
export async function stopLeftPostgres(input: EmptyHomeInput): Promise<number | undefined> {
  if (!existsSync(input.home)) return undefined;
  const home = realpathSync(input.home);
  const runtimeFolder = nameRuntimeFolder(home, input.runtime_base);
  for (const folder of clusterFolders(home)) {
    const server = findLeftServer(folder, runtimeFolder);
    if (server === undefined) continue;
    if (acquireHomeLock(join(home, HOME_PATHS.locks)).outcome === "taken") return undefined;
    await clearStaleLocks(folder, runtimeFolder, input.log);
    if (!isProcessAlive(server)) {
      // of its socket
      await removeFolder(runtimeFolder);
      return server.pid;
    }
    throw appError("daemon_busy", {
      detail: `The PostgreSQL that a killed daemon left does not end (process ${server.pid}).`,
      hint: `End it: kill -9 ${server.pid}`,
      meta: { pid: server.pid },
    });
  }
  return undefined;
}
