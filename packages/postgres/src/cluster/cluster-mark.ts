import { closeSync, fsyncSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "@appdb/contract/version";
import { moveFile } from "@appdb/system/files/move-file";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { syncPath } from "@appdb/system/files/sync-files";

/** In a cluster's own folder, so that whoever moves or copies the cluster takes it along. PostgreSQL does not mind. */
const MARK = "format.json";

/** How a version of the product keeps what is its own in a cluster's databases: numbered steps, which only go forward. */
export interface ClusterFormat {
  /** Number of the newest step that this version makes. */
  readonly newest: number;
  /** Where a database says which steps it has; quoted as SQL wants it. */
  readonly table: string;
  readonly column: string;
}

/** What ran on a cluster last. */
export interface ClusterMark {
  /** Number of its format. */
  readonly catalog: number;
  /** Of the product. */
  readonly version: string;
}

/** What a cluster's mark says; undefined when it has none that can be read: its databases are asked then. */
export function readMark(dataFolder: string): ClusterMark | undefined {
  const text = readIfExists(() => readFileSync(join(dataFolder, MARK), "utf8"));
  if (text === undefined) return undefined;
  try {
    const found: unknown = JSON.parse(text);
    return isMark(found) ? found : undefined;
  } catch {
    // cut off as the power was
    return undefined;
  }
}

function isMark(found: unknown): found is ClusterMark {
  if (typeof found !== "object" || found === null || !("catalog" in found) || !("version" in found)) return false;
  return Number.isInteger(found.catalog) && typeof found.version === "string";
}

/** Whether the mark says that this very version ran on the cluster last. */
export function isOurs(mark: ClusterMark | undefined, format: ClusterFormat): boolean {
  return mark?.catalog === format.newest && mark.version === VERSION;
}

/** Marks a cluster as this version's, on the disk once it resolves. */
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

/** Marks a cluster that was just made, whose files are all still to be synced. */
export function markNew(dataFolder: string, format: ClusterFormat): void {
  writeFileSync(join(dataFolder, MARK), markText(format), { mode: 0o600 });
}

function markText({ newest }: ClusterFormat): string {
  return `${JSON.stringify({ catalog: newest, version: VERSION } satisfies ClusterMark)}\n`;
}
