import { createHash } from "node:crypto";
import { readFileSync, type Stats } from "node:fs";
import { join } from "node:path";
import { HOME_PATHS } from "@appdb/contract/home";
import { writePrivateFile } from "@appdb/system/processes/private-files";

/** SHA-256 of a file as a whole and of its chunks, in hex. */
export interface FileDigests {
  readonly digest: string;
  readonly chunks: readonly string[];
}

type Kept = readonly [size: number, mtime_ms: number, ctime_ms: number, inode: number, FileDigests];

/** Digests of files that were read before, so that what has not changed is not read again. */
export interface DigestCache {
  find(path: string, stats: Stats): FileDigests | undefined;
  /** `read_at_ms` is a time before the file was read. */
  keep(path: string, stats: Stats, digests: FileDigests, readAtMs: number): void;
  /** Writes what was found or kept for these paths, if that is not what is written already. */
  save(): void;
}

const VERSION = 1;
/** A file that was changed so shortly before it was read may change again without another time: file systems count in steps. */
const SETTLED_MS = 2_000;

/** The digests that a home keeps of a project's files. One that cannot be read or written costs time and nothing else. */
export function openDigestCache(home: string, root: string): DigestCache {
  const name = createHash("sha256").update(root).digest("hex").slice(0, 16);
  const file = join(home, HOME_PATHS.digests, `${name}.json`);
  const before = readKept(file);
  const now = new Map<string, Kept>();
  let hasNews = false;
  return {
    find: (path, stats) => {
      const kept = before.get(path);
      if (kept === undefined || !isSame(kept, stats)) return undefined;
      now.set(path, kept);
      return kept[4];
    },
    keep: (path, stats, digests, readAtMs) => {
      if (Math.max(stats.mtimeMs, stats.ctimeMs) > readAtMs - SETTLED_MS) return;
      hasNews = true;
      now.set(path, [stats.size, stats.mtimeMs, stats.ctimeMs, stats.ino, digests]);
    },
    save: () => {
      if (!hasNews && now.size === before.size) return;
      try {
        writePrivateFile(file, JSON.stringify({ version: VERSION, files: [...now] }));
      } catch {
        // a home that cannot be written: the next command reads the files again
      }
    },
  };
}

function isSame([size, mtimeMs, ctimeMs, inode]: Kept, stats: Stats): boolean {
  return size === stats.size && mtimeMs === stats.mtimeMs && ctimeMs === stats.ctimeMs && inode === stats.ino;
}

function readKept(file: string): Map<string, Kept> {
  try {
    const { files, version } = JSON.parse(readFileSync(file, "utf8")) as { files: [string, Kept][]; version: number };
    return version === VERSION ? new Map(files) : new Map();
  } catch {
    // none yet, or one that was cut short
    return new Map();
  }
}
