import { AppError, appError } from "@appdb/contract/errors";
import { giveBackReserve } from "@appdb/postgres/cluster/start-reserve";
import { type DiskSpace, readDiskSpace } from "@appdb/system/files/disk-space";
import type { DiskFloorDeps } from "./disk-floor.ts";

const MB = 1024 ** 2;
/** PostgreSQL and its pod start with this. */
const LEAST_BYTES = 24 * MB;
/** Begins the last lines of a pod in an error of its start. */
const SAID = /\s+It said last:/;
const FREE_IT = "Ask the operator of the server to free space on its disk";

interface StartSpaceDeps {
  readonly config: Pick<DiskFloorDeps["config"], "home">;
  readonly readSpace?: (folder: string) => Promise<DiskSpace>;
}

/**
 * Refuses to stop a database or a service (`what`) that could not start again. A cluster gets the reserve in its parent
 * folder `clusterFolder` back, because its pod and the control plane write a little too.
 * @throws disk_full
 */
export async function requireStartSpace(
  { config, readSpace = readDiskSpace }: StartSpaceDeps,
  what: "PostgreSQL" | "the service" = "PostgreSQL",
  clusterFolder?: string,
): Promise<void> {
  const space = await readSpace(config.home);
  if (space.level !== "full") return;
  if (clusterFolder !== undefined) {
    if (space.free_bytes >= LEAST_BYTES) return;
    if (space.free_bytes + (await giveBackReserve(clusterFolder)) >= LEAST_BYTES) return;
  }
  throw appError("disk_full", {
    detail: `${leftOf(space)}, and ${what} could not start again. Nothing was restarted.`,
    hint: `${FREE_IT}, then try again. What runs stays as it is.`,
    meta: { free_bytes: space.free_bytes },
  });
}

/** Names the full disk in the error of a pod that did not start. Returns any other error unchanged. */
export async function explainFailedStart(
  { config, readSpace = readDiskSpace }: StartSpaceDeps,
  error: unknown,
  kind: "database" | "service" = "database",
): Promise<unknown> {
  if (!(error instanceof AppError) || error.code !== "pod_failed") return error;
  const space = await readSpace(config.home);
  if (space.level !== "full") return error;
  return appError("disk_full", {
    // the last words of a program without disk space are about the disk
    detail: `${leftOf(space)}, and ${kind === "database" ? "PostgreSQL" : "the service"} needs more to start. ${error.message.split(SAID)[0]}`,
    hint: `${FREE_IT}. The server then starts the ${kind} again. Or start it yourself: ${kind === "database" ? "cli db retry <db_uri>" : "cli service retry <service_uri>"}`,
    meta: { free_bytes: space.free_bytes },
    cause: error,
  });
}

function leftOf({ free_bytes: free }: DiskSpace): string {
  return `The disk of the server has ${Math.floor(free / MB)} MB left`;
}
