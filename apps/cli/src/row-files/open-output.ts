import { closeSync, openSync, realpathSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { moveFile } from "@appdb/system/files/move-file";

/** A file that appears under its name when it is complete. */
export class OutputFile implements Disposable {
  /** Its descriptor. */
  readonly file: number;
  readonly #path: string;
  readonly #typed: string;
  /** Where it is until it is complete; undefined for other things than files, such as a pipe. */
  readonly #part: string | undefined;
  #isOpen = true;

  /** @throws usage, disk_full if it cannot be written */
  constructor(path: string) {
    try {
      const found = statSync(path, { throwIfNoEntry: false });
      this.#path = found === undefined ? path : realpathSync(path);
      const isReplaced = found === undefined || found.isFile();
      // a folder is refused by the system
      this.#part = isReplaced ? join(dirname(this.#path), `.${basename(this.#path)}.${process.pid}.part`) : undefined;
      this.file = openSync(this.#part ?? this.#path, "w", found === undefined ? 0o666 : found.mode & 0o777);
    } catch (cause) {
      throw cannotWrite(path, cause);
    }
    this.#typed = path;
  }

  /**
   * Writes the content, and then gives the complete file its name.
   * @throws usage, disk_full if the system refuses a write; errors of `write`
   */
  async fill<T>(write: () => Promise<T>): Promise<T> {
    try {
      const written = await write();
      this.#end();
      return written;
    } catch (error) {
      throw isSystemError(error) ? cannotWrite(this.#typed, error) : error;
    }
  }

  write(text: string): void {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(this.file, bytes, at);
  }

  #end(): void {
    this.#close();
    if (this.#part !== undefined) moveFile(this.#part, this.#path);
  }

  /** Removes a file that was not completed. */
  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#close();
    if (this.#part !== undefined) rmSync(this.#part, { force: true });
  }

  #close(): void {
    this.#isOpen = false;
    closeSync(this.file);
  }
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}

function cannotWrite(path: string, cause: unknown): Error {
  if (isDiskFull(cause)) {
    return appError("disk_full", {
      detail: `${path} cannot be written: no space is left on its disk.`,
      hint: "Free space on that disk, or name a file on another one.",
      cause,
    });
  }
  return appError("usage", {
    detail: `${path} cannot be written.`,
    hint: "Name a file in a folder that exists.",
    cause,
  });
}
