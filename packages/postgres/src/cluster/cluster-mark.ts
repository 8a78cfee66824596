import { closeSync, fsyncSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "@appdb/contract/version";
import { moveFile } from "@appdb/system/files/move-file";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { syncPath } from "@appdb/system/files/sync-files";

/** Stored in the cluster's folder, so that moving or copying the cluster includes it. PostgreSQL ignores it. */
const MARK = "format.json";

/** Format of a product version's data in a cluster's databases: numbered migrations, forward only. */
export interface ClusterFormat {
  /** Number of its newest migration. */
  readonly newest: number;
  /** Table with the applied migrations of a database, quoted for SQL. */
  readonly table: string;
  readonly column: string;
}

/** The version that ran on a cluster last. */
export interface ClusterMark {
  /** Number of its format. */
  readonly catalog: number;
  /** Product version. */
  readonly version: string;
}

/** Reads a cluster's mark. Undefined when it is missing or unreadable; the databases are then checked. */
export function readMark(dataFolder: string): ClusterMark | undefined {
  const text = readIfExists(() => readFileSync(join(dataFolder, MARK), "utf8"));
  if (text === undefined) return undefined;
  try {
    const found: unknown = JSON.parse(text);
    return isMark(found) ? found : undefined;
  } catch {
    // cut off by a power cut
    return undefined;
  }
}

function isMark(found: unknown): found is ClusterMark {
  if (typeof found !== "object" || found === null || !("catalog" in found) || !("version" in found)) return false;
  return Number.isInteger(found.catalog) && typeof found.version === "string";
}

/** Whether this very version ran on the cluster last. */
export function isOwnVersion(mark: ClusterMark | undefined, format: ClusterFormat): boolean {
  return mark?.catalog === format.newest && mark.version === VERSION;
}

/** Marks a cluster as this version's; on disk once it resolves. */
export async function writeMark(dataFolder: string, format: ClusterFormat): Promise<void> {
  const path = join(dataFolder, MARK);
  const file = openSync(`${path}.tmp`, "w", 0o600);
  try {
    writeFileSync(file, markText(format));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  moveFile(`${path}.tmp`, path);
  await syncPath(dataFolder);
}

/** Marks a new cluster, whose files are all synced later. */
export function markNew(dataFolder: string, format: ClusterFormat): void {
  writeFileSync(join(dataFolder, MARK), markText(format), { mode: 0o600 });
}

function markText({ newest }: ClusterFormat): string {
  return `${JSON.stringify({ catalog: newest, version: VERSION } satisfies ClusterMark)}\n`;
}
