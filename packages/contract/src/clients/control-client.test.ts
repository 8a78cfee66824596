import { expect, test } from "vitest";
import type { LogLine } from "../routes/control-databases.ts";
import type { FetchLike } from "./client.ts";
import { createControlClient } from "./control-client.ts";

test("log lines are whole, however the connection splits them", async () => {
  const sent = new TextEncoder().encode(`${line(1, "zwölf")}\n${line(2, "two")}\n`);
  const client = clientOver(async function* () {
    for (const byte of sent) yield Uint8Array.of(byte);
  });
  expect(await collect(client.lines("databaseLogs", { params: MAIN }, open()))).toEqual(["zwölf", "two"]);
});

test("a log with a broken connection yields its lines, then an error", async () => {
  const client = clientOver(async function* () {
    yield new TextEncoder().encode(`${line(1, "one")}\n{"number": 2, "li`);
    throw new Error("connection reset");
  });
  const seen: string[] = [];
  const read = async () => {
    for await (const { line: text } of client.lines("databaseLogs", { params: MAIN }, open())) seen.push(text);
  };
  await expect(read()).rejects.toMatchObject({
    code: "server_unreachable",
    message: expect.stringContaining("logs broke. The server or the database stopped or restarted."),
  });
  expect(seen).toEqual(["one"]);
});

test("rows keep every digit in both directions", async () => {
  const bodies: unknown[] = [];
  const fetch: FetchLike = async (_, { body }) => {
    bodies.push(body);
    return { status: 200, text: async () => '{"id": 9007199254740993}', body: null };
  };
  const client = createControlClient({ url: "", url_source: "a test", credential: async () => ({}), fetch });
  const params = { ...MAIN, table: "docs" };
  expect(await client.text("rowInsert", { params, sent: '{"id": 9007199254740993}' })).toBe('{"id": 9007199254740993}');
  expect(bodies).toEqual(['{"id": 9007199254740993}']);
});

const MAIN = { org: "acme", db: "main" };
const open = () => new AbortController().signal;

function line(number: number, text: string): string {
  return JSON.stringify({ number, at: "2026-01-02T03:04:05.000Z", level: "info", line: text } satisfies LogLine);
}

function clientOver(pieces: () => AsyncGenerator<Uint8Array>) {
  const fetch: FetchLike = async () => ({ status: 200, text: async () => "", body: pieces() });
  return createControlClient({ url: "", url_source: "a test", credential: async () => ({}), fetch });
}

async function collect(lines: AsyncIterable<LogLine>): Promise<string[]> {
  const texts: string[] = [];
  for await (const { line: text } of lines) texts.push(text);
  return texts;
}
