import { type FileHandle, lstat, open, opendir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";
import { inTenantFolder, TENANT_FILE } from "@appdb/system/files/tenant-files";

const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;
/** Names of a log folder that are looked at; its writer makes a few, and a pod that is not honest makes as many as it likes. */
const MAX_NAMES = 1_000;
/** Of files that a log was rotated to. */
const NUMBER = /^[1-9]\d?$/;
/** Looks at a folder whose files change their names all the time. */
const MAX_LOOKS = 20;

interface LogFile {
  readonly name: string;
  readonly inode: number;
}

/**
 * The bytes of a log that its writer rotates by renaming (`pod.log` to `pod.log.1`, that to `pod.log.2`): from the oldest file to the
 * newest, and on from there as it grows. A file is known by its inode, so that none is read twice or left out, unless so much
 * was written meanwhile that the writer threw it away. What is no file is none of the log's: its writer is not trusted to
 * leave no links to what we alone may read.
 */
export class LogFiles implements AsyncDisposable {
  readonly #path: string;
  #handle: FileHandle | undefined;
  #inode = 0;
  #offset = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Goes to where the last `lines` begin; without it reading begins with the oldest file. */
  async seekLast(lines: number): Promise<void> {
    let missing = lines;
    for (const file of (await this.#list()).reverse()) {
      if (!(await this.#enter(file))) continue;
      const found = await this.#seekBack(missing);
      missing -= found;
      if (missing <= 0) return;
    }
  }

  /** The next bytes; `is_end` when the line that they end with goes on in no other file. Undefined when there are no more now. */
  async read(): Promise<{ readonly bytes: Buffer; readonly is_end: boolean } | undefined> {
    if (this.#handle === undefined && !(await this.#enterNext())) return undefined;
    for (;;) {
      const bytes = await this.#readChunk();
      if (bytes.byteLength > 0) return { bytes, is_end: false };
      const files = await this.#list();
      if (files.at(-1)?.inode === this.#inode || files.length === 0) return undefined;
      // what was written between our look and the rotation; after it nobody writes here
      const late = await this.#readChunk();
      if (late.byteLength > 0) return { bytes: late, is_end: false };
      if (!(await this.#enterNext())) return undefined;
      return { bytes: Buffer.alloc(0), is_end: true };
    }
  }

  /** When the file that is being read was written last. */
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
    // somebody has emptied the file
    if (bytesRead === 0 && (await handle.stat()).size < this.#offset) this.#offset = 0;
    this.#offset += bytesRead;
    return buffer.subarray(0, bytesRead);
  }

  /** Moves back from the end of the file over as many lines as there are, `most` of them; tells how many. */
  async #seekBack(most: number): Promise<number> {
    const handle = this.#handle;
    if (handle === undefined) return 0;
    const { size } = await handle.stat();
    this.#offset = size;
    if (most === 0) return 0;
    const buffer = Buffer.alloc(CHUNK_BYTES);
    let found = 0;
    for (let end = size; end > 0; ) {
      const start = Math.max(0, end - CHUNK_BYTES);
      const { bytesRead } = await handle.read(buffer, 0, end - start, start);
      for (let at = bytesRead - 1; at >= 0; at -= 1) {
        // the last line's own end
        if (buffer[at] !== LINE_FEED || start + at === size - 1) continue;
        found += 1;
        if (found < most) continue;
        this.#offset = start + at + 1;
        return found;
      }
      end = start;
    }
    this.#offset = 0;
    return size === 0 ? 0 : found + 1;
  }

  /** Opens the file after the one that was read: the oldest of all at first, and when that one is gone. */
  async #enterNext(): Promise<boolean> {
    for (;;) {
      const files = await this.#list();
      const place = files.findIndex(({ inode }) => inode === this.#inode);
      const next = files[place + 1];
      if (next === undefined) return false;
      if (await this.#enter(next)) return true;
    }
  }

  /** False when the file's name has become another file's meanwhile. */
  async #enter(file: LogFile): Promise<boolean> {
    const handle = await inTenantFolder(dirname(this.#path), (folder) => openFile(join(folder, file.name)));
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

  /** The log's files, the oldest first. Looked at until two looks agree: a rotation renames one after the other. */
  async #list(): Promise<LogFile[]> {
    let former: string | undefined;
    for (let looks = 1; ; looks += 1) {
      const files = await this.#look();
      const seen = JSON.stringify(files);
      if (seen === former || looks >= MAX_LOOKS) return files;
      former = seen;
    }
  }

  async #look(): Promise<LogFile[]> {
    const name = basename(this.#path);
    const found = await inTenantFolder(dirname(this.#path), async (folder) => {
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

/** Undefined when it is gone, or a link by now. */
async function openFile(path: string): Promise<FileHandle | undefined> {
  return await awaitIfExists(open(path, TENANT_FILE), ["ENOENT", "ELOOP"]);
}

async function fileAt(folder: string, name: string): Promise<LogFile[]> {
  const found = await awaitIfExists(lstat(join(folder, name)));
  return found?.isFile() === true ? [{ name, inode: found.ino }] : [];
}
