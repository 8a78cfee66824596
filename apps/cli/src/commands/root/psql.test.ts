import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { World } from "../../context.ts";
import { runCli } from "../../testing/fake-context.ts";

const SESSION = {
  event: "session",
  session: "0123",
  user: "psql_1",
  password: "secret",
  database: "main",
  ends_at: "2026-11-20T10:00:00.000Z",
};

let folder: string;
let program: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-psql-"));
  program = join(folder, "psql");
  const said = join(folder, "said");
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$@" "$PGUSER" "$PGPASSWORD" "$PGSERVICE" > ${said}\nexit 7\n`);
  chmodSync(program, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(words: readonly string[], context: Partial<World> = {}, onPrint = (_text: string) => {}) {
  const asked: unknown[] = [];
  const client = {
    lines: async function* (name: string, input: object, signal: AbortSignal) {
      asked.push([name, input]);
      yield SESSION;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  };
  const daemon = {
    ensure: async () => client,
    find: async () => undefined,
    waitUntilGone: async () => undefined,
    endHung: async () => "SIGTERM" as const,
  };
  const given = { daemon, findPsql: async () => program, cwd: folder, ...context } as unknown as Partial<World>;
  const { exit, stderr, stdout } = await runCli(["psql", ...words], { context: given, onPrint });
  return { exit, stderr, stdout, asked };
}

async function said(): Promise<readonly string[]> {
  const { readFileSync } = await import("node:fs");
  return readFileSync(join(folder, "said"), "utf8").split("\n");
}

test.skipIf(process.platform === "win32")(
  "words after the target go to psql, and its status is that of the command",
  async () => {
    const { asked, exit, stdout } = await run(["main/reports", "-c", "select 1", "--csv", "--write"]);
    expect([exit, stdout]).toEqual([7, ""]);
    expect(asked).toEqual([["psqlRead", { params: { db: "main" }, body: { folder: "reports" } }]]);
    expect((await said()).slice(4)).toEqual(["-c", "select 1", "--csv", "--write", "psql_1", "secret", "", ""]);
  },
);

test.skipIf(process.platform === "win32")("the prompt says what the session may do", async () => {
  await run(["main"]);
  expect(await said()).toContain("PROMPT1=main only reads%R%# ");
  const { asked, stderr } = await run(["--write", "main"]);
  expect(await said()).toContain("PROMPT1=main writes rows%R%# ");
  expect([asked[0], stderr]).toEqual([["psqlWrite", expect.anything()], "This session writes rows of main.\n"]);
});

test("an address is printed, and is open until the command is interrupted", async () => {
  const interrupt = new AbortController();
  const onPrint = (text: string) => {
    if (text.startsWith("postgresql:")) interrupt.abort();
  };
  const { exit, stdout } = await run(["main", "--url"], { signal: interrupt.signal }, onPrint);
  expect(stdout).toMatch(/^postgresql:\/\/psql_1:secret@127\.0\.0\.1:\d+\/main\?sslmode=disable\n$/);
  expect(exit).toBe(130);
});

test("wrong options and a missing program are named", async () => {
  expect(await run(["main", "--json"])).toMatchObject({
    exit: 2,
    stdout: expect.stringContaining("psql has no output as JSON"),
  });
  expect(await run(["main", "--url", "-c", "x"])).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining("--url opens no psql"),
  });
  expect(await run(["main", "select 1"])).toMatchObject({
    exit: 2,
    asked: [],
    stderr:
      "error: 'select 1' is not an option of psql, and main is the database.\n" +
      "hint: Run a statement with -c: cli psql main -c 'select 1'\n",
  });
  const findPsql = async () => {
    throw appError("postgres_failed", { detail: "This installation has no PostgreSQL, and so no psql." });
  };
  expect(await run(["main"], { findPsql })).toMatchObject({ exit: 1, stderr: expect.stringContaining("no psql") });
});
