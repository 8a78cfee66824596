import { join } from "node:path";
import { type AppError, appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import { END_DAEMON } from "@appdb/postgres/homes/empty-home";
import { endCommand } from "@appdb/system/processes/end-command";
import { type EndStep, endProcess } from "@appdb/system/processes/end-process";
import { refuseCopiedHome } from "@appdb/system/processes/home-copy";
import { findHomeOwner } from "@appdb/system/processes/home-lock";

/**
 * The error of a daemon that listens and does not answer. Undefined when the home belongs to no process with this pid:
 * the daemon ends at this moment, or is gone and the system gave its pid to another process.
 * @throws home_copied, because the daemon of the original is not ours to end
 */
export function findHungDaemon(home: string, pid: number): AppError | undefined {
  const locks = join(home, HOME_PATHS.locks);
  refuseCopiedHome(home, locks, "daemon");
  if (findHomeOwner(locks)?.pid !== pid) return undefined;
  return appError("daemon_hung", {
    detail: `The daemon (process ${pid}) does not answer.`,
    hint: "End it and start another: cli daemon restart",
    meta: { pid },
  });
}

/**
 * Ends a daemon that does not answer: asks it with SIGTERM, then kills exactly that process. Returns the signal that
 * ended it. Its PostgreSQL and services may still run.
 * @throws daemon_busy when it does not end
 */
export async function endHungDaemon(
  home: string,
  pid: number,
  steps: readonly EndStep[] = END_DAEMON,
): Promise<NodeJS.Signals> {
  const owner = findHomeOwner(join(home, HOME_PATHS.locks));
  if (owner?.pid !== pid) return "SIGTERM";
  for (const step of steps) if (await endProcess(owner, [step])) return step.signal;
  throw appError("daemon_busy", {
    detail: `The daemon (process ${pid}) does not answer, and the system does not end it.`,
    hint: `End it, or restart the machine: ${endCommand(pid)}`,
    meta: { pid },
  });
}
