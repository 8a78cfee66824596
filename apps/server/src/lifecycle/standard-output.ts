import { write, writeSync } from "node:fs";

const STDOUT = 1;
/** Bound of the lines that wait for a slow reader. */
const WAITING_CHARACTERS = 16_000_000;
/** A pipe or terminal takes no more until its reader has read. */
const FULL = "EAGAIN";
/** Its reader is gone for good. */
const GONE = ["EPIPE", "EIO", "EBADF", "ENXIO", "ECONNRESET"];
const RETRY_MS = 20;
/** Time for the last lines when the process exits and the reader is slow. */
const EXIT_MS = 1_000;

export interface StandardOutput {
  /** Takes lines and returns at once. Lines are dropped if the reader is gone, or behind by 16 million characters. */
  write(lines: string): void;
}

/**
 * Writes lines to standard output without waiting for its reader. A closed terminal or pipe ends the output and never
 * the process. Another error, such as that of a full disk, drops lines. pino's own destination is not used: in its
 * flush at the exit, it repeats a failed write forever.
 */
export function openStandardOutput(descriptor = STDOUT): StandardOutput {
  let waiting = "";
  let refused: Buffer = Buffer.alloc(0);
  let isWriting = false;
  let isBroken = false;
  const pump = (chunk: Buffer) => {
    isWriting = true;
    write(descriptor, chunk, (error, written) => {
      if (error === null) {
        if (written < chunk.length) pump(chunk.subarray(written));
        else next();
      } else if (hasCode(error, [FULL])) retryLater(chunk);
      else if (hasCode(error, GONE)) {
        isBroken = true;
        waiting = "";
      } else next();
    });
  };
  const retryLater = (chunk: Buffer) => {
    refused = chunk;
    setTimeout(() => {
      refused = Buffer.alloc(0);
      pump(chunk);
    }, RETRY_MS).unref();
  };
  const next = () => {
    isWriting = false;
    if (waiting === "") return;
    const chunk = Buffer.from(waiting);
    waiting = "";
    pump(chunk);
  };
  process.once("exit", () => {
    if (!isBroken) writeLast(descriptor, Buffer.concat([refused, Buffer.from(waiting)]));
  });
  // those of other writers, such as Node's warnings
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  return {
    write(lines) {
      if (isBroken || waiting.length > WAITING_CHARACTERS) return;
      waiting += lines;
      if (!isWriting) next();
    },
  };
}

function writeLast(descriptor: number, chunk: Buffer): void {
  const end = performance.now() + EXIT_MS;
  let rest = chunk;
  while (rest.length > 0 && performance.now() < end) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      if (!hasCode(error, [FULL])) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? "");
}
