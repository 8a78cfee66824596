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

/** A daemon ends its services and its PostgreSQL in this time; one that hangs is killed. */
const END_DAEMON = [
  { signal: "SIGTERM", wait_ms: 20_000 },
  { signal: "SIGKILL", wait_ms: 5_000 },
] as const;
const END_SERVICE = [
  { signal: "SIGTERM", wait_ms: 10_000 },
  { signal: "SIGKILL", wait_ms: 5_000 },
] as const;

export interface EmptyHomeInput {
  readonly home: string;
  /** XDG_RUNTIME_DIR, as the daemon had it. */
  readonly runtime_base: string | undefined;
  readonly log: Logger;
}

/** What `emptyHome` would remove now, by names in the home. */
export function findLocalData(home: string): string[] {
  return LOCAL_DATA.filter((name) => existsSync(join(home, name)));
}

/**
 * Removes what the daemon of a home keeps, and first ends what still runs there: the daemon, its services, its PostgreSQL. The
 * home is locked meanwhile, so that no daemon starts in what is half removed. Settings, sign-ins and a server of the home stay.
 * @throws daemon_busy when a process of the home does not end
 */
export async function emptyHome({ home: given, log, runtime_base: runtimeBase }: EmptyHomeInput): Promise<void> {
  const home = realpathSync(given);
  await takeLock(home);
  for (const service of findServices(join(home, HOME_PATHS.services))) await demandEnd(service, END_SERVICE, "service");
  const runtimeFolder = nameRuntimeFolder(home, runtimeBase);
  const postgres = join(home, HOME_PATHS.postgres);
  for (const name of existsSync(postgres) ? readdirSync(postgres) : []) {
    await clearStaleLocks(join(postgres, name), runtimeFolder, log);
  }
  await removeFolder(runtimeFolder);
  // the lock last: until then a daemon that is started waits for it
  const others = LOCAL_DATA.filter((name) => name !== HOME_PATHS.locks);
  for (const name of [...others, HOME_PATHS.locks]) await removeFolder(join(home, name));
}

async function takeLock(home: string): Promise<void> {
  const folder = join(home, HOME_PATHS.locks);
  const lock = acquireHomeLock(folder);
  if (lock.outcome === "acquired") return;
  await demandEnd(lock.owner, END_DAEMON, "daemon");
  const again = acquireHomeLock(folder);
  if (again.outcome === "taken") throw stillRuns("daemon", again.owner);
}

async function demandEnd(
  identity: ProcessIdentity,
  steps: Parameters<typeof endProcess>[1],
  what: string,
): Promise<void> {
  if (!(await endProcess(identity, steps))) throw stillRuns(what, identity);
}

function stillRuns(what: string, { pid }: ProcessIdentity): Error {
  return appError("daemon_busy", {
    detail: `A ${what} of the home runs and does not end (process ${pid}); nothing was removed.`,
    hint: `End it and try again: kill -9 ${pid}`,
    meta: { pid },
  });
}

/** Processes that the daemon noted of its services. Some may be gone. */
function findServices(folder: string): ProcessIdentity[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".process"));
  return files.flatMap((name) => {
    try {
      const { pid, started } = JSON.parse(readFileSync(join(folder, name), "utf8")) as Partial<ProcessIdentity>;
      return typeof pid === "number" && typeof started === "string" ? [{ pid, started }] : [];
    } catch {
      // removed meanwhile, or cut short by a crash of the machine: no process of that time lives
      return [];
    }
  });
}
