import { once } from "node:events";
import { errorResponse, readErrorResponse } from "@appdb/system/network/postgres-errors";
import { expect, test } from "vitest";
import { PsqlAnswers } from "./psql-answers.ts";

const PROCESS = 4_711;
const CANCELLED = { severity: "ERROR", sqlstate: "57014", message: "canceling statement due to user request" };
const TIMED_OUT = { ...CANCELLED, message: "canceling statement due to statement timeout" };
const ENDED = {
  severity: "FATAL",
  sqlstate: "57P01",
  message: "terminating connection due to administrator command",
};

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

function keyData(): Buffer {
  const body = Buffer.alloc(8);
  body.writeUInt32BE(PROCESS, 0);
  return message("K", body);
}

const BEFORE = [keyData(), message("Z", Buffer.from("I")), message("D", Buffer.from("a row with E57014"))];
const AFTER = message("Z", Buffer.from("E"));

interface Told {
  readonly cancels?: boolean;
  readonly blocks?: boolean;
  readonly encrypts?: boolean;
}

/** What the client gets of these pieces. */
async function answer(pieces: readonly Buffer[], { blocks = false, cancels = false, encrypts = false }: Told = {}) {
  const answers = new PsqlAnswers({
    takeCancel: (process) => process === PROCESS && cancels,
    isBlocking: (process) => process === PROCESS && blocks,
  });
  if (encrypts) answers.expectByte();
  const got: Buffer[] = [];
  answers.on("data", (piece: Buffer) => got.push(piece));
  for (const piece of pieces) answers.write(piece);
  answers.end();
  await once(answers, "end");
  return Buffer.concat(got);
}

const byteByByte = (bytes: Buffer) => [...bytes].map((byte) => Buffer.from([byte]));

test.each([
  ["a statement that a change cancelled", CANCELLED, {}, "schema_changed"],
  ["a connection that others waited for", ENDED, { blocks: true }, "Others waited for the locks"],
])("says why PostgreSQL ended %s, in pieces of any size", async (_what, error, told, says) => {
  const before = Buffer.concat(BEFORE);
  const all = Buffer.concat([before, errorResponse(error), AFTER]);
  const whole = await answer([all], told);
  expect(await answer(byteByByte(all), told)).toEqual(whole);
  expect(whole.subarray(0, before.length)).toEqual(before);
  expect(whole.subarray(-AFTER.length)).toEqual(AFTER);
  const shown = readErrorResponse(whole.subarray(before.length, -AFTER.length));
  expect(shown).toMatchObject({ severity: error.severity, sqlstate: error.sqlstate });
  expect(shown.message).toContain(says);
});

test.each([
  ["that the client cancelled", CANCELLED, { cancels: true }],
  ["beyond its time", TIMED_OUT, {}],
  ["of a server that stops", ENDED, {}],
])("passes the error of a statement %s", async (_what, error, told) => {
  const all = Buffer.concat([...BEFORE, errorResponse(error), AFTER]);
  expect(await answer(byteByByte(all), told)).toEqual(all);
});

test("passes the byte that refuses encryption, and messages that were cut", async () => {
  const all = Buffer.concat([Buffer.from("N"), ...BEFORE, errorResponse(CANCELLED).subarray(0, 20)]);
  expect(await answer(byteByByte(all), { encrypts: true })).toEqual(all);
});
