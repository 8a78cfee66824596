import { closeSync, fstatSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { moveFile } from "@appdb/system/files/move-file";

const SOON_MS = 100;
const SOON_CHARACTERS = 65_536;

/** `write` takes small, infrequent texts and writes them immediately, so that entries before a kill are on disk. */
export interface RotatingFileOptions {
  readonly path: string;
  /** A larger file is renamed to `.1`, `.1` to `.2` and so on. */
  readonly max_bytes: number;
  /** Number of old files to keep. */
  readonly keep: number;
}

/**
 * A log file that exceeds `max_bytes` by at most one text. Appends; several owners may use one path in turn. A text
 * that cannot be written, usually because the disk is full, is dropped: logging must not end the logged program. The
 * next successful write starts with a line that gives the number of dropped lines and the reason.
 */
export class RotatingFile implements Disposable {
  readonly #options: RotatingFileOptions;
  #fd: number | undefined;
  #size = 0;
  #lost = 0;
  #reason = "";
  #waiting = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RotatingFileOptions) {
    this.#options = options;
  }

  write(text: string): void {
    this.flush();
    this.#write(text);
  }

  /** Writes within a tenth of a second, batched, in the order of all writes. A kill loses pending lines. */
  writeSoon(text: string): void {
    this.#waiting += text;
    if (this.#waiting.length >= SOON_CHARACTERS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), SOON_MS).unref();
  }

  /** Writes pending lines. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#waiting;
    this.#waiting = "";
    if (text !== "") this.#write(text);
  }

  #write(text: string): void {
    try {
      this.#append(Buffer.from(this.#lost === 0 ? text : this.#describeLoss() + text));
      this.#lost = 0;
    } catch (error) {
      this.#lost += 1;
      this.#reason = error instanceof Error ? error.message : String(error);
    }
  }

  [Symbol.dispose](): void {
    this.flush();
    this.#close();
  }

  #close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #append(bytes: Buffer): void {
    const fd = this.#open(bytes.byteLength);
    for (let done = 0; done < bytes.byteLength; ) {
      const written = writeSync(fd, bytes, done);
      this.#size += written;
      done += written;
    }
  }

  /** Starts on a new line, because the previous write may have been cut off. */
  #describeLoss(): string {
    const entry = { level: "warn", time: new Date().toISOString(), lost: this.#lost, reason: this.#reason };
    return `\n${JSON.stringify({ ...entry, msg: "lines of this log could not be written" })}\n`;
  }

  #open(coming: number): number {
    const { path, max_bytes: maxBytes } = this.#options;
    if (this.#fd !== undefined && this.#size > 0 && this.#size + coming > maxBytes) {
      this.#close();
      this.#shift();
    }
    if (this.#fd === undefined) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      this.#fd = openSync(path, "a", 0o600);
      this.#size = fstatSync(this.#fd).size;
    }
    return this.#fd;
  }

  #shift(): void {
    const { path, keep } = this.#options;
    for (let number = keep; number >= 1; number--) {
      moveIfThere(number === 1 ? path : `${path}.${number - 1}`, `${path}.${number}`);
    }
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    moveFile(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
