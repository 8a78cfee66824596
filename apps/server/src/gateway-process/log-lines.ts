import type { Writable } from "node:stream";

/** Maximum lines kept without a reader. The oldest are dropped. */
const MAX_KEPT = 1_000;
/** A reader with more unread bytes is disconnected. It may reconnect. */
const MAX_UNREAD = 8 * 1024 * 1024;

/** Log lines of a process that another process prints. */
export interface LogLines {
  /** Writes a line, as a logger's destination. */
  write(line: string): void;
  /** Sends the reader the kept lines, then every new line. */
  follow(reader: Writable): void;
}

/** Creates a log for readers. It keeps the last lines while it has no reader. */
export function createLogLines(): LogLines {
  const readers = new Set<Writable>();
  const buffered: string[] = [];
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
      buffered.push(line);
      if (buffered.length > MAX_KEPT) buffered.shift();
    },
    follow(reader) {
      readers.add(reader);
      reader.once("close", () => readers.delete(reader));
      for (const line of buffered.splice(0)) reader.write(line);
    },
  };
}
