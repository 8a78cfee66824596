import { describeFreeSpace } from "@appdb/system/files/disk-reserve";
import { sql } from "kysely";
import { type ControlDatabase, describeUnreachable } from "../database/pool.ts";
import { type DiskFloorDeps, readHomeDisk } from "../storage/disk-floor.ts";
import type { HealthProblem } from "./problems.ts";

/** PostgreSQL counts as down if it takes longer to answer. */
const ANSWER_MS = 3_000;
/** The operator is warned below the reserve times this factor. */
const LOW_TIMES = 2;
/** Minimum free bytes if the reserve is disabled. PostgreSQL cannot write with less. */
const LEAST_BYTES = 64 * 1024 ** 2;

/** Checks that the control plane's PostgreSQL answers, and reports failures caused by the machine. */
export async function checkDatabase(
  db: ControlDatabase,
  whyDown: () => string | undefined = () => undefined,
  maxMs = ANSWER_MS,
): Promise<HealthProblem[]> {
  const counting = sql<{ databases: number; services: number }>`
    select (select count(*)::int from control.databases where state = 'FAILED' and retry_at is not null) as databases,
      (select count(*)::int from control.services where state = 'FAILED' and retry_at is not null) as services`.execute(
    db,
  );
  try {
    const counted = (await withTimeout(counting, maxMs)).rows[0] ?? { databases: 0, services: 0 };
    return failureProblems(counted);
  } catch (error) {
    const failure = whyDown();
    if (failure !== undefined)
      return [{ code: "postgres_down", what: `The control plane's PostgreSQL is down. ${failure}` }];
    const reason = describeUnreachable(error).replace(/\.$/, "");
    return [{ code: "postgres_down", what: `The control plane's PostgreSQL does not answer: ${reason}.` }];
  }
}

function failureProblems({ databases, services }: { databases: number; services: number }): HealthProblem[] {
  if (databases + services === 0) return [];
  const parts = [
    ...(databases > 0 ? [`${databases} database${databases === 1 ? "" : "s"}`] : []),
    ...(services > 0 ? [`${services} service${services === 1 ? "" : "s"}`] : []),
  ];
  const what = `FAILED because of the machine, will be restarted automatically: ${parts.join(" and ")}. See cli server databases.`;
  return [{ code: "machine_failures", what }];
}

/** Checks the free space of the home's disk. */
export async function checkDisk(deps: DiskFloorDeps): Promise<HealthProblem[]> {
  try {
    const disk = await readHomeDisk(deps);
    const floor = Math.max(disk.floor_bytes, LEAST_BYTES);
    const freeText = `The disk of the home has ${describeFreeSpace(disk)} left`;
    if (disk.is_short_of_files || disk.free_bytes < floor) {
      return [{ code: "disk_full", what: `${freeText}: organizations cannot write.` }];
    }
    if (disk.free_bytes >= floor * LOW_TIMES) return [];
    return [{ code: "disk_low", what: `${freeText}. Below ${toGigabytes(floor)} GB organizations cannot write.` }];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [{ code: "home_unreadable", what: `The home cannot be read: ${reason}.` }];
  }
}

function toGigabytes(bytes: number): string {
  return (bytes / 1024 ** 3).toFixed(2);
}

/** @throws the work's error, or a timeout */
async function withTimeout<Answer>(work: Promise<Answer>, maxMs: number): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${maxMs / 1_000} s`)), maxMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
