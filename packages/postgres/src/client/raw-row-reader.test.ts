import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { RawRowReader } from "./raw-row-reader.ts";

function message(type: string, body: string): Buffer {
  const bytes = Buffer.alloc(5 + Buffer.byteLength(body));
  bytes.write(type);
  bytes.writeUInt32BE(bytes.length - 1, 1);
  bytes.write(body, 5);
  return bytes;
}

/**
 * What a reader gives to a caller that takes rows and to the driver when a stream brings `chunks`, each in the same memory as the last.
 * The driver keeps what it gets, as it does while a connection is being made.
 */
function read(chunks: readonly Buffer[], isTaking: boolean): { rows: string[]; passed: string } {
  const stream = new PassThrough();
  const passed: Buffer[] = [];
  stream.on("data", (messages: Buffer) => passed.push(messages));
  const reader = new RawRowReader();
  reader.filterStream(stream);
  const rows: string[] = [];
  if (isTaking) reader.take = (bytes, start, end) => void rows.push(bytes.toString("utf8", start, end));
  const memory = Buffer.alloc(4096);
  for (const chunk of chunks) {
    chunk.copy(memory);
    stream.emit("data", memory.subarray(0, chunk.length));
  }
  return { rows, passed: Buffer.concat(passed).toString() };
}

const OTHERS = [message("2", ""), message("C", "SELECT 3"), message("N", "a notice")];
const ROWS = ["first", "", "a third of some length"];
const ALL = Buffer.concat([
  ...OTHERS.slice(0, 1),
  message("D", ROWS[0] ?? ""),
  message("D", ROWS[1] ?? ""),
  ...OTHERS.slice(2),
  message("D", ROWS[2] ?? ""),
  ...OTHERS.slice(1, 2),
]);
const PASSED = Buffer.concat([...OTHERS.slice(0, 1), ...OTHERS.slice(2), ...OTHERS.slice(1, 2)]).toString();

test("delivers whole rows in order and all other messages to the driver", () => {
  for (let first = 0; first <= ALL.length; first++) {
    for (const second of [first, Math.min(first + 1, ALL.length), Math.min(first + 7, ALL.length), ALL.length]) {
      const chunks = [ALL.subarray(0, first), ALL.subarray(first, second), ALL.subarray(second)];
      const given = chunks.filter((chunk) => chunk.length > 0);
      expect(read(given, true)).toEqual({ rows: ROWS, passed: PASSED });
    }
  }
  const bytes = Array.from(ALL, (byte) => Buffer.from([byte]));
  expect(read(bytes, true)).toEqual({ rows: ROWS, passed: PASSED });
});

test("the driver gets rows while no consumer takes them", () => {
  expect(read([ALL.subarray(0, 9), ALL.subarray(9)], false)).toEqual({ rows: [], passed: ALL.toString() });
});

test("rejects a driver that does not read a connection by one listener of its stream", () => {
  const stream = new PassThrough();
  expect(() => new RawRowReader().filterStream(stream)).toThrow("This release of pg does not read");
  stream.on("data", () => {}).on("data", () => {});
  expect(() => new RawRowReader().filterStream(stream)).toThrow("This release of pg does not read");
});

test.each([-1, 0, 3])("a message of the length %i ends the stream", async (length) => {
  const stream = new PassThrough();
  stream.on("data", () => {});
  new RawRowReader().filterStream(stream);
  const ended = new Promise<Error>((resolve) => stream.once("error", resolve));
  const bytes = Buffer.from("T....");
  bytes.writeInt32BE(length, 1);
  stream.emit("data", bytes);
  expect((await ended).message).toContain("invalid length");
});
