import type { Writable } from "node:stream";

/** Lines that wait for somebody who reads them; the oldest go first. */
const MAX_KEPT = 1_000;
/** A reader that leaves so much unread is hung up on: it may come again. */
const MAX_UNREAD = 8 * 1024 * 1024;

/** The log of a process whose lines another one prints. */
export interface LogLines {
  /** As a destination of a logger. */
  write(line: string): void;
  /** Gives the reader what was kept, then every line as it is written. */
  follow(reader: Writable): void;
}

/** Lines for whoever follows them; the last ones are kept while nobody does. */
export function createLogLines(): LogLines {
  const readers = new Set<Writable>();
  const kept: string[] = [];
  return {
    write(line) {
      for (const reader of readers) {
        if (reader.writableLength < MAX_UNREAD) reader.write(line);
        else {
          readers.delete(reader);
          reader.destroy();
        }
      }
      if (readers.size > 0) return;
      kept.push(line);
      if (kept.length > MAX_KEPT) kept.shift();
    },
    follow(reader) {
      readers.add(reader);
      reader.once("close", () => readers.delete(reader));
      for (const line of kept.splice(0)) reader.write(line);
    },
  };
}
