import { createHash, randomBytes } from "node:crypto";
import { closeSync, mkdirSync, statSync } from "node:fs";
import { readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { createFile, writeAll } from "@appdb/system/files/descriptors";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";

/** A file stays for so long after its last use, although the cache is full: a worker may be about to open it. */
const SPARED_MS = 600_000;
/** Use of a file is written down this often. */
const TOUCH_MS = 60_000;
/** Content that may change is compared with its source this often. */
const COMPARED_MS = 60_000;
/** The beginning of the names of files that are being written; the owner follows. */
export const DRAFT = ".draft-";
const VERSION_DIGITS = 16;
const VERSIONED = /^[0-9a-f]{64}\.[0-9a-f]{16}$/;

export interface FileCacheOptions {
  /** Only programs of one database use it. */
  readonly folder: string;
  readonly max_bytes: number;
  /** Names drafts, so that those of a dead program are known. */
  readonly owner: string;
  readonly now?: () => number;
}

/** What a source says of its content, to be asked later whether it is still the same. */
export interface Validators {
  readonly etag?: string | undefined;
  readonly last_modified?: string | undefined;
}

/** The content of a source that may change. */
export interface FoundContent extends Validators {
  /** Equal for equal content only. */
  readonly version: string;
}

/** Writes the current content to a new path; undefined, and nothing written, if it is still the known one. */
export type FetchCurrent = (path: string, known: Validators | undefined) => Promise<FoundContent | undefined>;

/** The file of a source that may change, as it was found last. */
interface KnownContent extends Validators {
  readonly file: string;
  readonly compared_ms: number;
}

interface Making {
  readonly path: Promise<string>;
  readonly signal: AbortSignal | undefined;
}

/**
 * Files that were brought to this machine, by name. Several programs may use one folder. What was used least recently goes
 * first when there is too much. The content of a path never changes: other content has another path.
 */
export class FileCache {
  readonly #options: FileCacheOptions;
  readonly #now: () => number;
  readonly #making = new Map<string, Making>();
  readonly #used = new Map<string, number>();
  readonly #known = new Map<string, KnownContent>();
  #bytes: number | undefined;

  constructor(options: FileCacheOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  }

  /** Gives the path of a file; `fill` writes it to a new path when the cache lacks it. One fill serves all that wait.
   *  @throws what `fill` throws */
  async get(name: string, fill: (path: string) => Promise<unknown>, signal?: AbortSignal): Promise<string> {
    const file = digest(name);
    if (await this.#isThere(file)) return this.#pathOf(file);
    return await this.#once(file, signal, async () => {
      const draft = this.#newDraft();
      return await this.#keep(draft, file, () => fill(draft));
    });
  }

  /**
   * The same for content that may change: it is compared with its source, though not again within a minute. A source that
   * does not answer is an error, and the earlier content is not given for it. @throws what `fetch` throws
   */
  async current(name: string, fetch: FetchCurrent, signal?: AbortSignal): Promise<string> {
    const entry = digest(name);
    const recent = this.#known.get(entry);
    if (recent !== undefined && this.#isRecent(recent) && (await this.#isThere(recent.file))) {
      return this.#pathOf(recent.file);
    }
    return await this.#once(entry, signal, () => this.#compare(entry, fetch));
  }

  async #compare(entry: string, fetch: FetchCurrent): Promise<string> {
    const index = this.#pathOf(`${entry}.json`);
    const stored = await readKnown(index, entry);
    const known = stored !== undefined && (await this.#isThere(stored.file)) ? stored : undefined;
    if (known !== undefined && this.#isRecent(known)) {
      this.#known.set(entry, known);
      return this.#pathOf(known.file);
    }
    const draft = this.#newDraft();
    let found: FoundContent | undefined;
    try {
      found = await fetch(draft, known);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    const next = found === undefined ? known : describeContent(entry, found);
    if (next === undefined) throw new TypeError("A source gave no content.");
    const path = found === undefined ? this.#pathOf(next.file) : await this.#keep(draft, next.file);
    const compared = { ...next, compared_ms: this.#now() };
    await writeIndex(index, JSON.stringify(compared));
    this.#known.set(entry, compared);
    return path;
  }

  #isRecent({ compared_ms: comparedMs }: KnownContent): boolean {
    const now = this.#now();
    return comparedMs <= now && now - comparedMs < COMPARED_MS;
  }

  /** Runs one work for all that need the file. When it ends with the request that began it, another one begins. */
  async #once(file: string, signal: AbortSignal | undefined, work: () => Promise<string>): Promise<string> {
    for (let under = this.#making.get(file); under !== undefined; under = this.#making.get(file)) {
      try {
        return await under.path;
      } catch (error) {
        if (under.signal?.aborted !== true) throw error;
        signal?.throwIfAborted();
      }
    }
    const path = work().finally(() => this.#making.delete(file));
    this.#making.set(file, { path, signal });
    return await path;
  }

  async #isThere(file: string): Promise<boolean> {
    const now = this.#now();
    if (now - (this.#used.get(file) ?? Number.NEGATIVE_INFINITY) < TOUCH_MS) return true;
    const touched = await awaitIfExists(utimes(this.#pathOf(file), now / 1_000, now / 1_000).then(() => true));
    if (touched !== true) return false;
    this.#used.set(file, now);
    return true;
  }

  /** Gives a draft its name, after `fill` has written it. */
  async #keep(draft: string, file: string, fill?: () => Promise<unknown>): Promise<string> {
    const path = this.#pathOf(file);
    try {
      await fill?.();
      // it was written just now: the kernel has its size in memory
      const { size } = statSync(draft);
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

  #pathOf(file: string): string {
    return join(this.#options.folder, file);
  }

  #newDraft(): string {
    return this.#pathOf(`${DRAFT}${this.#options.owner}-${randomBytes(8).toString("hex")}`);
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
      this.#known.delete(file.split(".", 1)[0] ?? "");
      bytes -= size;
    }
    this.#bytes = bytes;
  }
}

function describeContent(
  entry: string,
  { version, etag, last_modified }: FoundContent,
): Omit<KnownContent, "compared_ms"> {
  return { file: `${entry}.${digest(version).slice(0, VERSION_DIGITS)}`, etag, last_modified };
}

/** What another program or an earlier request has found. A text that was not written by us counts as nothing. */
async function readKnown(index: string, entry: string): Promise<KnownContent | undefined> {
  // the kernel has names in memory, and most addresses are new
  if (statSync(index, { throwIfNoEntry: false }) === undefined) return undefined;
  const text = await awaitIfExists(readFile(index, "utf8"));
  if (text === undefined) return undefined;
  const { file = "", compared_ms: comparedMs = 0, etag, last_modified: lastModified } = parseIndex(text);
  if (!VERSIONED.test(file) || !file.startsWith(entry)) return undefined;
  return { file, compared_ms: comparedMs, etag, last_modified: lastModified };
}

/** Writes in place: a text that is cut, or mixed with that of another program, is not JSON and counts as nothing. */
async function writeIndex(path: string, text: string): Promise<void> {
  const file = await createFile(path, "w", 0o600);
  try {
    await writeAll(file, Buffer.from(text));
  } finally {
    closeSync(file);
  }
}

function parseIndex(text: string): Partial<KnownContent> {
  try {
    return (JSON.parse(text) as KnownContent | null) ?? {};
  } catch {
    // cut, or written by two programs at once: the source is read again
    return {};
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
