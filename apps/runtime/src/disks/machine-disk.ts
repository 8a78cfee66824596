import { AppError, appError } from "@appdb/contract/errors";
import { SqlError } from "@appdb/engine/ports";
import { type DiskSpace, readDiskSpace } from "@appdb/system/files/disk-space";

const MB = 1024 ** 2;
/** A batch of large values and its log have a few hundred megabytes. */
const BATCH_BYTES = 512 * MB;

export interface MachineDiskInput {
  /** A folder on the disk of the databases. */
  readonly folder: string;
  /** How errors name the disk: `The disk of the home /home/ada/.service`. */
  readonly name: string;
  /** The one who can free space, as the first part of a hint: `Free space on it`. */
  readonly free_it: string;
  readonly readSpace?: (folder: string) => Promise<DiskSpace>;
}

/** The disk that PostgreSQL shares with everything else on the machine, apart from the limit of a hosted database. */
export interface MachineDisk {
  /** Checks that a job may write its next batch. @throws disk_full */
  admit(): Promise<void>;
  /** Names the disk in an error that it caused. Returns any other error unchanged. */
  explain(error: unknown): Promise<unknown>;
}

export function createMachineDisk({
  folder,
  free_it: freeIt,
  name,
  readSpace = readDiskSpace,
}: MachineDiskInput): MachineDisk {
  const left = ({ free_bytes: free }: DiskSpace) => `${name} has ${Math.floor(free / MB)} MB left`;
  return {
    admit: async () => {
      const space = await readSpace(folder);
      if (space.free_bytes >= BATCH_BYTES) return;
      throw appError("disk_full", {
        detail: `${left(space)}, and a job needs ${BATCH_BYTES / MB} MB.`,
        hint: `${freeIt}, and run the command again.`,
        meta: { free_bytes: space.free_bytes },
      });
    },
    explain: async (error) => {
      if (!(error instanceof AppError)) return error;
      if (error.code === "disk_full" && isOfPostgres(error.cause)) {
        const { message, meta } = error;
        const detail = `${message} ${left(await readSpace(folder))}.`;
        return appError("disk_full", { detail, hint: `${freeIt}, and try again.`, meta, cause: error });
      }
      if (error.code !== "database_unavailable" && error.code !== "commit_unknown") return error;
      const space = await readSpace(folder);
      if (space.level !== "full") return error;
      return appError(error.code === "commit_unknown" ? "commit_unknown" : "disk_full", {
        detail: `${error.message} ${left(space)}.`,
        hint: `${freeIt}. PostgreSQL then starts automatically, and unfinished jobs continue.`,
        meta: { ...error.meta, free_bytes: space.free_bytes },
        cause: error,
      });
    },
  };
}

/** Whether PostgreSQL found the disk full, by a statement or for a connection (`explainFullDisk`). */
function isOfPostgres(cause: unknown): boolean {
  return cause instanceof SqlError || cause instanceof AppError;
}
