import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import { createOutput } from "../../output/output.ts";
import { type DaemonAnswers, type FakeContext, runCli } from "../../testing/fake-context.ts";

const COLUMNS = [
  { name: "id", type: { kind: "int" }, nullable: true },
  { name: "title", type: { kind: "string" }, nullable: true },
];
const ROWS = ['[9223372036854775807,"a \\"b\\",\\nc"]', `[2,"${"x".repeat(80)}"]`, "[null,null]", '[3,""]'];

function answer(end: object = { done: { count: 4, has_more: false } }): string {
  const messages = [
    JSON.stringify({ columns: COLUMNS }),
    `{"rows":[${ROWS.slice(0, 2).join(",")}]}`,
    `{"rows":[${ROWS.slice(2).join(",")}]}`,
    JSON.stringify(end),
  ];
  return messages.map((one) => `${one}\n`).join("");
}

async function run(words: readonly string[], text = answer(), context: FakeContext["context"] = {}) {
  const sent: unknown[] = [];
  const client: DaemonAnswers = {
    sqlRun: async (body) => {
      sent.push(body);
      return text;
    },
  };
  return { ...(await runCli(["query", ...words], { client, context })), sent };
}

test("prints an aligned table, cuts long cells, and counts the rows", async () => {
  const { exit, sent, stderr, stdout } = await run(["select id, title from docs"]);
  expect(stdout.split("\n")).toEqual([
    "id                   title",
    '9223372036854775807  a "b",\\nc',
    `2                    ${"x".repeat(57)}...`,
    "",
    "3",
    "",
  ]);
  expect(stderr).toMatch(/^4 rows, \d+ ms\n$/);
  expect(exit).toBe(0);
  expect(sent).toEqual([{ sql: "select id, title from docs", folder: "", limit: 1000 }]);
});

test("a statement that begins with explain shows its plan, and errors keep their columns", async () => {
  const { sent } = await run(["explain select 1"]);
  expect(sent).toEqual([{ sql: "        select 1", folder: "", explain: true }]);
  const { sent: untouched } = await run(["explain analyze select 1"]);
  expect(untouched).toMatchObject([{ sql: "explain analyze select 1" }]);
});

test("the mark of a UTF-8 file is left out of its statement", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-query-"));
  writeFileSync(join(folder, "bom.sql"), "\uFEFFselect 1;\n");
  const { sent } = await run(["-f", join(folder, "bom.sql")]);
  rmSync(folder, { recursive: true });
  expect(sent).toMatchObject([{ sql: "select 1;\n" }]);
});

test.each([
  [[""], "The statement is missing."],
  [["select 1", "--csv", "--json"], "--csv and --json are two forms of the rows."],
])("refuses %j before anything is sent", async (words, says) => {
  const { exit, sent, stderr } = await run(words);
  expect(exit).not.toBe(0);
  expect(sent).toEqual([]);
  expect(stderr).toContain(says);
});

test("prints CSV and JSON with the digits of large integers", async () => {
  const csv = await run(["select 1", "--csv"]);
  expect(csv.stdout).toBe(`id,title\n9223372036854775807,"a ""b"",\nc"\n2,${"x".repeat(80)}\n,\n3,""\n`);
  const json = await run(["select 1", "--json"]);
  expect(json.stdout).toContain("9223372036854775807");
  expect(JSON.parse(json.stdout)).toMatchObject({ columns: COLUMNS, count: 4, has_more: false });
  expect(JSON.parse(json.stdout).rows).toHaveLength(4);
});

test("sends the folder and the limit, and says that there are more", async () => {
  const { sent, stderr } = await run(
    ["select 1", "--target", "main/reports", "--limit", "4"],
    answer({ done: { count: 4, has_more: true } }),
  );
  expect(sent).toEqual([{ sql: "select 1", folder: "reports", limit: 4 }]);
  expect(stderr).toMatch(/there are more\n$/);
});

test("asks for the plan, and prints its lines as they are", async () => {
  const lines = [{ columns: COLUMNS.slice(1) }, { rows: [["Limit  (cost=0.1)"], ["  ->  Seq Scan on docs"]] }];
  const text = [...lines, { done: { count: 2, has_more: false } }].map((one) => `${JSON.stringify(one)}\n`).join("");
  const { sent, stdout } = await run(["--explain", "select 1"], text);
  expect(stdout).toBe("Limit  (cost=0.1)\n  ->  Seq Scan on docs\n");
  expect(sent).toEqual([{ sql: "select 1", folder: "", explain: true }]);
});

test("reads a statement from a file or from its input", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-sql-"));
  writeFileSync(join(folder, "a.sql"), "select 1\n");
  expect((await run(["-f", join(folder, "a.sql")])).sent).toMatchObject([{ sql: "select 1\n" }]);
  rmSync(folder, { recursive: true });
  const readInput = async () => Buffer.from("select 2");
  expect((await run([], answer(), { readInput })).sent).toMatchObject([{ sql: "select 2" }]);
  expect((await run(["-f", "/none/a.sql"])).stderr).toContain("error: /none/a.sql cannot be read.");
  const missing = await run([]);
  expect(missing.stderr).toContain("The statement is missing.");
  expect(missing.exit).toBe(2);
  expect((await run(["select 1", "-f", "a.sql"])).stderr).toContain("Two statements");
});

test("shows the line that PostgreSQL refused", async () => {
  const refused = appError("sql_refused", {
    detail: "PostgreSQL refused the statement at line 2, column 3: no.",
    hint: "Correct it.",
    meta: { line: 2, column: 3 },
  });
  const client: DaemonAnswers = { sqlRun: () => Promise.reject(refused) };
  const { exit, stderr } = await runCli(["query", "select id,\n  titel from docs"], { client });
  expect(stderr.split("\n").slice(0, 3)).toEqual(["  titel from docs", "  ^", `error: ${refused.message}`]);
  expect(exit).toBe(1);
});

test("an error within the rows, and a result that is cut off, fail", async () => {
  const problem = { type: "x", title: "x", status: 504, code: "query_timeout", detail: "Too long." };
  expect(await run(["select 1", "--csv"], answer({ error: problem }))).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining("error: Too long."),
  });
  const cut = answer().split("\n").slice(0, 2).join("\n");
  expect((await run(["select 1"], cut)).stderr).toContain("The result was cut off before its end.");
});

test("prints no faster than its reader reads", async () => {
  const printed: string[] = [];
  let hasRoom = true;
  const stdout = {
    write: (text: string) => {
      expect(hasRoom, "The reader has not taken the previous text.").toBe(true);
      hasRoom = false;
      printed.push(text);
    },
    whenReady: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      hasRoom = true;
    },
  };
  const out = createOutput(stdout, { write: () => undefined }, true);
  for (const option of ["--csv", "--json"]) expect((await run(["select 1", option], answer(), { out })).exit).toBe(0);
  expect(printed.join("")).toContain('3,""\n{"columns"');
});

test("the name of the verb may be written", async () => {
  expect((await run(["run", "select 1"])).exit).toBe(0);
});
