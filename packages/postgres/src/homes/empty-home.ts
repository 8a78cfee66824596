import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS, LOCAL_DATA } from "@appdb/contract/home";
import type { Logger } from "@appdb/engine/ports";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { endProcess } from "@appdb/system/processes/end-process";
import { acquireHomeLock } from "@appdb/system/processes/home-lock";
import type { ProcessIdentity } from "@appdb/system/processes/process-identity";
import { nameRuntimeFolder } from "../cluster/runtime-folder.ts";
import { clearStaleLocks } from "../cluster/stale-locks.ts";

/** Time for a daemon to end its services and PostgreSQL. A daemon that hangs is killed. */
export const END_DAEMON = [
  { signal: "SIGTERM", wait_ms: 20_000 },
  { signal: "SIGKILL", wait_ms: 5_000 },
] as const;
const END_SERVICE = [
  { signal: "SIGTERM", wait_ms: 10_000 },
  { signal: "SIGKILL", wait_ms: 5_000 },
] as const;

export interface EmptyHomeInput {
  readonly home: string;
  /** Value of XDG_RUNTIME_DIR for the daemon. */
  readonly runtime_base: string | undefined;
  readonly log: Logger;
}

/** Names in the home that `emptyHome` would remove now. */
export function findLocalData(home: string): string[] {
  return LOCAL_DATA.filter((name) => existsSync(join(home, name)));
}

/**
 * Ends the daemon of a home, its services and PostgreSQL, and removes their data. Holds the home's lock meanwhile, so
 * that no daemon starts in a half-removed home. Keeps settings, sign-ins and a server of the home.
 * @throws daemon_busy when a process of the home does not end
 */
export async function emptyHome({ home: given, log, runtime_base: runtimeBase }: EmptyHomeInput): Promise<void> {
  const home = realpathSync(given);
  await takeLock(home);
  for (const service of findServices(join(home, HOME_PATHS.services)))
    await requireEnd(service, END_SERVICE, "service");
  const runtimeFolder = nameRuntimeFolder(home, runtimeBase);
  for (const folder of clusterFolders(home)) await clearStaleLocks(folder, runtimeFolder, log);
  await removeFolder(runtimeFolder);
  // remove the lock last: until then a new daemon waits for it
  const others = LOCAL_DATA.filter((name) => name !== HOME_PATHS.locks);
  for (const name of [...others, HOME_PATHS.locks]) await removeFolder(join(home, name));
}

/** The folders of a home's clusters. A start that was cut short leaves files next to them. */
export function clusterFolders(home: string): string[] {
  const postgres = join(home, HOME_PATHS.postgres);
  const found = existsSync(postgres) ? readdirSync(postgres, { withFileTypes: true }) : [];
  return found.filter((entry) => entry.isDirectory()).map(({ name }) => join(postgres, name));
}

async function takeLock(home: string): Promise<void> {
  const folder = join(home, HOME_PATHS.locks);
  const lock = acquireHomeLock(folder);
  if (lock.outcome === "acquired") return;
  await requireEnd(lock.owner, END_DAEMON, "daemon");
  const again = acquireHomeLock(folder);
  if (again.outcome === "taken") throw stillRuns("daemon", again.owner);
}

async function requireEnd(
  identity: ProcessIdentity,
  steps: Parameters<typeof endProcess>[1],
  what: string,
): Promise<void> {
  if (!(await endProcess(identity, steps))) throw stillRuns(what, identity);
}

function stillRuns(what: string, { pid }: ProcessIdentity): Error {
  return appError("daemon_busy", {
    detail: `A ${what} of the home does not end (process ${pid}). Nothing was removed.`,
    hint: `End it and try again: kill -9 ${pid}`,
    meta: { pid },
  });
}

/** Processes of services that the daemon recorded. Some may have ended. */
function findServices(folder: string): ProcessIdentity[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".process"));
  return files.flatMap((name) => {
    try {
      const { pid, started } = JSON.parse(readFileSync(join(folder, name), "utf8")) as Partial<ProcessIdentity>;
      return typeof pid === "number" && typeof started === "string" ? [{ pid, started }] : [];
    } catch {
      // removed meanwhile, or cut short by a machine crash: none of those processes runs any more
      return [];
    }
  });
}
