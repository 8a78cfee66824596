import { createHash } from "node:crypto";
import { readFileSync, type Stats } from "node:fs";
import { join } from "node:path";
import { HOME_PATHS } from "@appdb/contract/home";
import { writePrivateFile } from "@appdb/system/processes/private-files";

/** SHA-256 of a whole file and of its chunks, in hex. */
export interface FileDigests {
  readonly digest: string;
  readonly chunks: readonly string[];
}

type Kept = readonly [size: number, mtime_ms: number, ctime_ms: number, inode: number, FileDigests];

/** Digests of previously read files, so that unchanged files are not read again. */
export interface DigestCache {
  find(path: string, stats: Stats): FileDigests | undefined;
  /** `read_at_ms` is a time before the file was read. */
  store(path: string, stats: Stats, digests: FileDigests, readAtMs: number): void;
  /** Writes the digests that were found or stored for these paths, if they changed. */
  save(): void;
}

const VERSION = 1;
/**
 * A file changed this shortly before it was read may change again without a new time, because file systems round times.
 */
const SETTLED_MS = 2_000;

/** Digests of a project's files, stored in the home. A cache that cannot be read or written only costs time. */
export function openDigestCache(home: string, root: string): DigestCache {
  const name = createHash("sha256").update(root).digest("hex").slice(0, 16);
  const file = join(home, HOME_PATHS.digests, `${name}.json`);
  const before = readKept(file);
  const now = new Map<string, Kept>();
  let hasNews = false;
  return {
    find: (path, stats) => {
      const cached = before.get(path);
      if (cached === undefined || !isSame(cached, stats)) return undefined;
      now.set(path, cached);
      return cached[4];
    },
    store: (path, stats, digests, readAtMs) => {
      if (Math.max(stats.mtimeMs, stats.ctimeMs) > readAtMs - SETTLED_MS) return;
      hasNews = true;
      now.set(path, [stats.size, stats.mtimeMs, stats.ctimeMs, stats.ino, digests]);
    },
    save: () => {
      if (!hasNews && now.size === before.size) return;
      try {
        writePrivateFile(file, JSON.stringify({ version: VERSION, files: [...now] }));
      } catch {
        // unwritable home: the next command reads the files again
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
    // missing or incomplete
    return new Map();
  }
}
