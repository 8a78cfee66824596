import { closeSync, fstatSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { moveFile } from "@appdb/system/files/move-file";

const SOON_MS = 100;
const SOON_CHARACTERS = 65_536;

/** What `write` takes is small and rare enough to be written at once: what was logged before a kill is on the disk. */
export interface RotatingFileOptions {
  readonly path: string;
  /** A file that has grown past this moves to `.1`, that to `.2` and so on. */
  readonly max_bytes: number;
  /** How many old files stay. */
  readonly keep: number;
}

/**
 * A log file that never grows past `max_bytes` by more than one text. Appends; several owners in turn may use one path.
 * A text that cannot be written, on a full disk above all, is lost: a log must not end what it tells about. The next one
 * that can be written has a line before it that says how many are missing, and why.
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

  /** Writes within a tenth of a second, many lines at once, in the order of all writes; a process that is killed takes them with it. */
  writeSoon(text: string): void {
    this.#waiting += text;
    if (this.#waiting.length >= SOON_CHARACTERS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), SOON_MS).unref();
  }

  /** Writes what waits. */
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

  /** Begins a line of its own: what broke off may have been cut in the midst of one. */
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
