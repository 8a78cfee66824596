import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { beforeEach, describe, expect, test } from "vitest";
import { useDatabaseCommands } from "../../testing/database-commands.ts";
import { AT, changeOf, DATABASE, DONE, logLine } from "../../testing/databases.ts";

const { answers, asked, entry, requests, run } = useDatabaseCommands();

describe("cli db delete", () => {
  const later = new Date(Date.now() + 86_400_000).toISOString();
  beforeEach(() => {
    answers.databaseDelete = () =>
      changeOf("database.delete", { state: "DELETING", name: "staging", purged_at: later });
    answers.operationShow = () => ({ ...DONE, kind: "database.delete" });
    answers.databaseShow = () => ({
      ...DATABASE,
      name: "staging",
      uri: "cloud://acme:staging",
      state: "DELETING",
      purged_at: later,
    });
  });

  test("asks for the name and prints the deadline to undelete", async () => {
    const ran = await run("db delete cloud://acme:staging", { typed: "staging" });
    expect(ran).toMatchObject({ exit: 0, stdout: "Deleted database 'staging'.\n" });
    expect(ran.stderr).toContain(`until ${later}. Restore it with: cli db undelete cloud://acme:staging\n`);
    expect(requests()[0]).toMatchObject({ name: "databaseDelete", query: { now: "0" } });
  });

  test("deletes nothing for a wrong name or without a terminal", async () => {
    const wrong = await run("db delete cloud://acme:staging", { typed: "main" });
    expect(wrong).toMatchObject({ exit: 3, stderr: expect.stringContaining("Nothing was deleted") });
    const alone = await run("db delete cloud://acme:staging --now");
    expect(alone.exit).toBe(3);
    expect(alone.stderr).toContain("hint: To confirm in advance: cli db delete cloud://acme:staging --now -f\n");
    expect(asked()).toEqual([]);
  });

  test("-f replaces the name; --now allows no undelete", async () => {
    const ran = await run("db delete cloud://acme:staging --now -f --json");
    expect(ran.exit).toBe(0);
    expect(requests()[0]?.query).toEqual({ now: "1" });
    expect(asked()).not.toContain("databaseShow");
  });

  test("the server refuses main, and a missing name is a usage error", async () => {
    answers.databaseDelete = () => {
      throw appError("database_protected", { detail: "cloud://acme:main cannot be deleted." });
    };
    expect((await run("db delete cloud://acme:main -f")).exit).toBe(1);
    entry("cloud://acme:staging");
    expect(await run("db delete -f")).toMatchObject({ exit: 1, stdout: "" });
    expect(asked()).toEqual(["databaseDelete"]);
  });
});

describe("cli db logs", () => {
  beforeEach(() => {
    answers.databaseLogs = async function* () {
      yield logLine(0, "database ready");
      yield { ...logLine(0, "slow\u001b[2J"), level: "warn" as const };
    };
  });

  test("prints lines, one JSON array, or a JSON object per line when following", async () => {
    expect((await run("db logs cloud://acme:main")).stdout).toBe(
      `${AT} info   database ready\n${AT} warn   slow\\u001b[2J\n`,
    );
    expect(JSON.parse((await run("db logs cloud://acme:main --json")).stdout)[0]).toEqual(logLine(0, "database ready"));
    expect((await run("db logs cloud://acme:main --json -f")).stdout.split("\n")[0]).toBe(
      JSON.stringify(logLine(0, "database ready")),
    );
  });

  test("requests the chosen number, age and build output", async () => {
    await run("db logs cloud://acme:main --since 2h --tail 7 --build");
    expect(requests()[0]?.query).toEqual({ source: "build", tail: "7", follow: "0", since_s: "7200" });
    for (const wrong of ["--tail 0", "--tail 10001", "--since 5", "--since 400d"]) {
      expect((await run(`db logs cloud://acme:main ${wrong}`)).exit).toBe(1);
    }
    answers.databaseLogs = async function* () {};
    expect((await run("db logs cloud://acme:main --since 1h")).stderr).toBe("No log records in the last 1h.\n");
  });

  test("-f follows until Ctrl-C", async () => {
    let lines = 0;
    answers.databaseLogs = async function* () {
      for (;;) {
        yield logLine(0, `line ${++lines}`);
        await sleep(10);
      }
    };
    const interrupt = new AbortController();
    const running = run("db logs cloud://acme:main -f", { signal: interrupt.signal });
    await expect.poll(() => lines).toBeGreaterThan(2);
    interrupt.abort();
    const ran = await running;
    expect(ran).toMatchObject({ exit: 130, stderr: "" });
    expect(ran.stdout).toContain("line 1\n");
    expect(requests()[0]?.query["follow"]).toBe("1");
  });
});
