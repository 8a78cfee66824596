import { createHash, randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";

/** A file stays for so long after its last use, although the cache is full: a worker may be about to open it. */
const SPARED_MS = 600_000;
/** Use of a file is written down this often. */
const TOUCH_MS = 60_000;
const DRAFT = ".draft-";

export interface FileCacheOptions {
  /** Only programs of one database use it. */
  readonly folder: string;
  readonly max_bytes: number;
  readonly now?: () => number;
}

/**
 * Files that were brought to this machine, by name. Several programs may use one folder. What was used least recently goes
 * first when there is too much.
 */
export class FileCache {
  readonly #options: FileCacheOptions;
  readonly #now: () => number;
  readonly #making = new Map<string, Promise<string>>();
  readonly #used = new Map<string, number>();
  #bytes: number | undefined;

  constructor(options: FileCacheOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  }

  /** Gives the path of a file; `fill` writes it to a new path when the cache lacks it. One fill serves all that wait.
   *  @throws what `fill` throws */
  async get(name: string, fill: (path: string) => Promise<unknown>): Promise<string> {
    const file = createHash("sha256").update(name).digest("hex");
    const path = join(this.#options.folder, file);
    if (await this.#isThere(file, path)) return path;
    const under = this.#making.get(file);
    if (under !== undefined) return under;
    const making = this.#make(file, path, fill).finally(() => this.#making.delete(file));
    this.#making.set(file, making);
    return making;
  }

  async #isThere(file: string, path: string): Promise<boolean> {
    const now = this.#now();
    if (now - (this.#used.get(file) ?? Number.NEGATIVE_INFINITY) < TOUCH_MS) return true;
    const touched = await awaitIfExists(utimes(path, now / 1_000, now / 1_000).then(() => true));
    if (touched !== true) return false;
    this.#used.set(file, now);
    return true;
  }

  async #make(file: string, path: string, fill: (path: string) => Promise<unknown>): Promise<string> {
    const draft = join(this.#options.folder, DRAFT + randomBytes(8).toString("hex"));
    try {
      await fill(draft);
      const { size } = await stat(draft);
      await rename(draft, path);
      this.#used.set(file, this.#now());
      if (this.#bytes !== undefined) this.#bytes += size;
      if (this.#bytes === undefined || this.#bytes > this.#options.max_bytes) await this.#shrink();
      return path;
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  /** Removes the files that were used least recently, until there is room again, and drafts of killed programs. */
  async #shrink(): Promise<void> {
    const { folder, max_bytes: maxBytes } = this.#options;
    const files: { file: string; bytes: number; used: number }[] = [];
    for (const file of await readdir(folder)) {
      const found = await awaitIfExists(stat(join(folder, file)));
      if (found !== undefined) files.push({ file, bytes: found.size, used: found.mtimeMs });
    }
    let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const spared = this.#now() - SPARED_MS;
    for (const { file, used, bytes: size } of files.sort((one, other) => one.used - other.used)) {
      const isAbandoned = file.startsWith(DRAFT) && used < spared;
      if (!isAbandoned && (bytes <= maxBytes || used >= spared)) continue;
      await rm(join(folder, file), { force: true });
      this.#used.delete(file);
      bytes -= size;
    }
    this.#bytes = bytes;
  }
}
