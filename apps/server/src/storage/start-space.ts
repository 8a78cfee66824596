import { AppError, appError } from "@appdb/contract/errors";
import { type DiskSpace, readDiskSpace } from "@appdb/system/files/disk-space";
import type { DiskFloorDeps } from "./disk-floor.ts";

const MB = 1024 ** 2;
const FREE_IT = "Ask the operator of the server to free space on its disk";

interface StartSpaceDeps {
  readonly config: Pick<DiskFloorDeps["config"], "home">;
  readonly readSpace?: (folder: string) => Promise<DiskSpace>;
}

/** Refuses to stop a database that could not start again. @throws disk_full */
export async function requireStartSpace({ config, readSpace = readDiskSpace }: StartSpaceDeps): Promise<void> {
  const space = await readSpace(config.home);
  if (space.level !== "full") return;
  throw appError("disk_full", {
    detail: `${leftOf(space)}, and PostgreSQL could not start again. Nothing was restarted.`,
    hint: `${FREE_IT}, then try again. A database that runs stays as it is.`,
    meta: { free_bytes: space.free_bytes },
  });
}

/** Names the full disk in the error of a pod that did not start. Returns any other error unchanged. */
export async function explainFailedStart(
  { config, readSpace = readDiskSpace }: StartSpaceDeps,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof AppError) || error.code !== "pod_failed") return error;
  const space = await readSpace(config.home);
  if (space.level !== "full") return error;
  return appError("disk_full", {
    detail: `${leftOf(space)}, and PostgreSQL needs more to start. ${error.message}`,
    hint: `${FREE_IT}. The server then starts the database again. Or start it yourself: cli db retry <db_uri>`,
    meta: { free_bytes: space.free_bytes },
    cause: error,
  });
}

function leftOf({ free_bytes: free }: DiskSpace): string {
  return `The disk of the server has ${Math.floor(free / MB)} MB left`;
}
