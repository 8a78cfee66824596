import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { createPsqlGuard, usesChannels } from "./psql-guard.ts";

function startup(parameters: Readonly<Record<string, string>>, protocol = 196_608): Buffer {
  const text = Buffer.from(`${Object.entries(parameters).flat().join("\0")}\0\0`);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + text.length, 0);
  head.writeUInt32BE(protocol, 4);
  return Buffer.concat([head, text]);
}

function message(type: string, text: string): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(4 + Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

const OWN = startup({ user: "psql_1", database: "main", application_name: "psql" });

/** What passes, and what the client gets. Each piece is written on its own. */
async function pass(...pieces: readonly Buffer[]) {
  const refused: string[] = [];
  const guard = createPsqlGuard({
    user: "psql_1",
    database: "main",
    refuse: (response) => refused.push(response.toString()),
    onEncryption: () => undefined,
    onCancel: () => undefined,
  });
  const passed: Buffer[] = [];
  guard.on("data", (piece: Buffer) => passed.push(piece));
  for (const piece of pieces) guard.write(piece);
  guard.end();
  await once(guard, "end");
  return { passed: Buffer.concat(passed), refused: refused.join("") };
}

test("passes the messages of its user, in pieces of any size", async () => {
  const all = Buffer.concat([OWN, message("p", "password\0"), message("Q", "select 1\0"), message("X", "")]);
  const bytes = [...all].map((byte) => Buffer.from([byte]));
  expect((await pass(all)).passed).toEqual(all);
  expect(await pass(...bytes)).toEqual({ passed: all, refused: "" });
});

test("passes requests for encryption, and a cancel request alone", async () => {
  const tls = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
  expect((await pass(tls, OWN)).passed).toEqual(Buffer.concat([tls, OWN]));
  const cancel = Buffer.from([0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 1, 0, 0, 0, 2]);
  expect((await pass(cancel, message("Q", "select 1\0"))).passed).toEqual(cancel);
});

test.each([
  ["another user", startup({ user: "postgres", database: "main" })],
  ["another database", startup({ user: "psql_1", database: "postgres" })],
  ["no database", startup({ user: "psql_1" })],
  ["replication", startup({ user: "psql_1", database: "main", replication: "database" })],
  ["an old protocol", startup({ user: "psql_1", database: "main" }, 131_072)],
])("refuses %s before PostgreSQL sees it", async (_what, first) => {
  const { passed, refused } = await pass(first, message("Q", "select 1\0"));
  expect([passed.length, refused]).toEqual([0, expect.stringContaining("only for the user psql_1")]);
});

test("refuses bytes of another protocol, long statements and calls of functions", async () => {
  expect((await pass(Buffer.from("GET / HTTP/1.1\r\n\r\n"))).refused).toContain("08P01");
  const long = Buffer.alloc(5);
  long.write("Q");
  long.writeUInt32BE(2_000_001, 1);
  expect((await pass(OWN, long)).refused).toContain("54000");
  const parameters = Buffer.alloc(5);
  parameters.write("B");
  parameters.writeUInt32BE(16_000_001, 1);
  expect(await pass(OWN, parameters)).toEqual({ passed: OWN, refused: expect.stringContaining("54000") });
  expect((await pass(OWN, message("F", "1234"))).refused).toContain("0A000");
  expect((await pass(OWN, Buffer.from([0x51, 0, 0, 0, 1]))).refused).toContain("08P01");
});

test("refuses statements on channels in both kinds of messages", async () => {
  for (const [type, text] of [
    ["Q", "notify appdb_jobs\0"],
    ["P", "name\0NOTIFY x\0\0\0"],
  ] as const) {
    const { passed, refused } = await pass(OWN, message(type, text));
    expect([passed, refused]).toEqual([OWN, expect.stringContaining("LISTEN and NOTIFY")]);
  }
});

describe("a statement on channels is found", () => {
  test.each([
    "listen x",
    " \n\tNotify x",
    "select 1;unlisten *",
    "select 1 ; -- x\n /* y */ listen x",
    "-- x\r\n\n listen x",
    "/* x */listen x",
    "begin; notify x; commit",
  ])("in %j", (text) => expect(usesChannels(text)).toBe(true));

  test.each(["select listen from t", "select 'please\nlisten'", "select 1 as notify", "select notify_all()", ""])(
    "and not in %j",
    (text) => expect(usesChannels(text)).toBe(false),
  );

  test("in linear time", () => {
    expect(usesChannels("--".repeat(2_000_000))).toBe(false);
    expect(usesChannels(`${" ".repeat(2_000_000)}x listen`)).toBe(false);
    expect(usesChannels("x\nlisten ".repeat(200_000))).toBe(false);
  });
});
