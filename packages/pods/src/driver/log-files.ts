import { type FileHandle, lstat, open, opendir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";
import { TENANT_FILE, withTenantFolder } from "@appdb/system/files/tenant-files";

const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;
/** Maximum number of names read in a log folder. The writer makes a few; a malicious pod may make any number. */
const MAX_NAMES = 1_000;
/** Suffix of rotated files. */
const NUMBER = /^[1-9]\d?$/;
/** Maximum number of attempts to list a folder while its files are being renamed. */
const MAX_LOOKS = 20;

interface LogFile {
  readonly name: string;
  readonly inode: number;
}

/**
 * Reads a log that its writer rotates by renaming (`pod.log` to `pod.log.1`, that to `pod.log.2`). It reads from the
 * oldest file to the newest, then continues as the log grows. Files are identified by inode, so none is read twice or
 * skipped, unless the writer already deleted it. Only regular files are read, because the writer could link to files
 * that only we may read.
 */
export class LogFiles implements AsyncDisposable {
  readonly #path: string;
  #handle: FileHandle | undefined;
  #inode = 0;
  #offset = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Moves to the start of the last `lines` lines. Without this call, reading begins with the oldest file. */
  async seekLast(lines: number): Promise<void> {
    let missing = lines;
    for (const file of (await this.#list()).reverse()) {
      if (!(await this.#enter(file))) continue;
      const found = await this.#seekBack(missing);
      missing -= found;
      if (missing <= 0) return;
    }
  }

  /**
   * Reads the next bytes. `is_end` when their last line continues in no other file. Undefined when there are none now.
   */
  async read(): Promise<{ readonly bytes: Buffer; readonly is_end: boolean } | undefined> {
    if (this.#handle === undefined && !(await this.#enterNext())) return undefined;
    for (;;) {
      const bytes = await this.#readChunk();
      if (bytes.byteLength > 0) return { bytes, is_end: false };
      const files = await this.#list();
      if (files.at(-1)?.inode === this.#inode || files.length === 0) return undefined;
      // bytes written between our read and the rotation; later writes go to another file
      const late = await this.#readChunk();
      if (late.byteLength > 0) return { bytes: late, is_end: false };
      if (!(await this.#enterNext())) return undefined;
      return { bytes: Buffer.alloc(0), is_end: true };
    }
  }

  /** Time of the last write to the current file. */
  async writtenAt(): Promise<Date> {
    return (await this.#handle?.stat())?.mtime ?? new Date(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async #readChunk(): Promise<Buffer> {
    const buffer = Buffer.alloc(CHUNK_BYTES);
    const handle = this.#handle;
    if (handle === undefined) return buffer.subarray(0, 0);
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, this.#offset);
    // the file was truncated
    if (bytesRead === 0 && (await handle.stat()).size < this.#offset) this.#offset = 0;
    this.#offset += bytesRead;
    return buffer.subarray(0, bytesRead);
  }

  /** Moves back from the end of the file by up to `max` lines. Returns the number of lines. */
  async #seekBack(max: number): Promise<number> {
    const handle = this.#handle;
    if (handle === undefined) return 0;
    const { size } = await handle.stat();
    this.#offset = size;
    if (max === 0) return 0;
    const buffer = Buffer.alloc(CHUNK_BYTES);
    let found = 0;
    for (let end = size; end > 0; ) {
      const start = Math.max(0, end - CHUNK_BYTES);
      const { bytesRead } = await handle.read(buffer, 0, end - start, start);
      for (let at = bytesRead - 1; at >= 0; at -= 1) {
        // the line feed of the last line
        if (buffer[at] !== LINE_FEED || start + at === size - 1) continue;
        found += 1;
        if (found < max) continue;
        this.#offset = start + at + 1;
        return found;
      }
      end = start;
    }
    this.#offset = 0;
    return size === 0 ? 0 : found + 1;
  }

  /** Opens the file after the current one; the oldest file at first, or when the current one is gone. */
  async #enterNext(): Promise<boolean> {
    for (;;) {
      const files = await this.#list();
      const index = files.findIndex(({ inode }) => inode === this.#inode);
      const next = files[index + 1];
      if (next === undefined) return false;
      if (await this.#enter(next)) return true;
    }
  }

  /** False when another file took the name in the meantime. */
  async #enter(file: LogFile): Promise<boolean> {
    const handle = await withTenantFolder(dirname(this.#path), (folder) => openFile(join(folder, file.name)));
    if (handle === undefined) return false;
    if ((await handle.stat()).ino !== file.inode) {
      await handle.close();
      return false;
    }
    await this.#handle?.close();
    this.#handle = handle;
    this.#inode = file.inode;
    this.#offset = 0;
    return true;
  }

  /** The log's files, oldest first. Lists until two results agree, because a rotation renames files one at a time. */
  async #list(): Promise<LogFile[]> {
    let previous: string | undefined;
    for (let looks = 1; ; looks += 1) {
      const files = await this.#look();
      const seen = JSON.stringify(files);
      if (seen === previous || looks >= MAX_LOOKS) return files;
      previous = seen;
    }
  }

  async #look(): Promise<LogFile[]> {
    const name = basename(this.#path);
    const found = await withTenantFolder(dirname(this.#path), async (folder) => {
      const numbers: number[] = [];
      let seen = 0;
      for await (const { name: found } of await opendir(folder)) {
        const number = found.startsWith(`${name}.`) ? found.slice(name.length + 1) : "";
        if (found === name) numbers.push(0);
        else if (NUMBER.test(number)) numbers.push(Number(number));
        seen += 1;
        if (seen >= MAX_NAMES) break;
      }
      numbers.sort((one, other) => other - one);
      const names = numbers.map((number) => (number === 0 ? name : `${name}.${number}`));
      return await Promise.all(names.map((name) => fileAt(folder, name)));
    });
    return (found ?? []).flat();
  }
}

/** Undefined when the file is gone or became a link. */
async function openFile(path: string): Promise<FileHandle | undefined> {
  return await awaitIfExists(open(path, TENANT_FILE), ["ENOENT", "ELOOP"]);
}

async function fileAt(folder: string, name: string): Promise<LogFile[]> {
  const found = await awaitIfExists(lstat(join(folder, name)));
  return found?.isFile() === true ? [{ name, inode: found.ino }] : [];
}
