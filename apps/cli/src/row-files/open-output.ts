import { closeSync, openSync, realpathSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { moveFile } from "@appdb/system/files/move-file";

/** A file that appears under its name when it is complete. */
export class OutputFile implements Disposable {
  /** Its descriptor. */
  readonly file: number;
  readonly #path: string;
  /** Where it is until it is complete; undefined for other things than files, such as a pipe. */
  readonly #part: string | undefined;
  #isOpen = true;

  /** @throws usage if it cannot be written */
  constructor(path: string) {
    try {
      const found = statSync(path, { throwIfNoEntry: false });
      this.#path = found === undefined ? path : realpathSync(path);
      const isReplaced = found === undefined || found.isFile();
      // a folder is refused by the system
      this.#part = isReplaced ? join(dirname(this.#path), `.${basename(this.#path)}.${process.pid}.part`) : undefined;
      this.file = openSync(this.#part ?? this.#path, "w", found === undefined ? 0o666 : found.mode & 0o777);
    } catch (cause) {
      throw appError("usage", {
        detail: `${path} cannot be written.`,
        hint: "Name a file in a folder that exists.",
        cause,
      });
    }
  }

  write(text: string): void {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(this.file, bytes, at);
  }

  /** Gives the complete file its name. */
  end(): void {
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
