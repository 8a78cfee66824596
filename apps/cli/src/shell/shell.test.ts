import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { parseTarget } from "@appdb/contract/names";
import { dataTable } from "@appdb/contract/testing/tables";
import { expect, test } from "vitest";
import type { CommandTable } from "../command-entry.ts";
import { LEAVES, NOUNS } from "../command-table.ts";
import type { Context } from "../context.ts";
import { defineCommand, type JsonFlag } from "../define-command.ts";
import { type DaemonAnswers, runCli } from "../testing/fake-context.ts";
import { hasSecret, openHistory } from "./history.ts";
import { resolvePath } from "./location.ts";
import { placeWords } from "./place-words.ts";
import { Session } from "./session.ts";
import { splitWords } from "./split-words.ts";
import { beginsSql, cutStatement, writesBySql } from "./sql-text.ts";

const TABLES = [dataTable("docs"), dataTable("reports/days")];
const DOCS: DaemonAnswers = {
  tableList: async () => ({ tables: TABLES, folders: [] }),
  tableShow: async () => dataTable("docs"),
  rowCount: async () => ({ count: 7 }),
  jobList: async ({ target }) => {
    if (target === "main") return [];
    throw appError("database_not_found", { detail: `There is no database ${target}.` });
  },
};

const pipe = (lines: readonly string[], words = "shell main", client: DaemonAnswers = DOCS) =>
  runCli(words, { client, piped: lines.map((line) => `${line}\n`) });

test.each([
  ["count docs", ["count", "docs"]],
  ['  rows \'a b\' "c \\" d" e\\ f', ["rows", "a b", 'c " d', "e f"]],
  ["get docs '' # a comment", ["get", "docs", ""]],
  ["--where 'a = \"x\"'", ["--where", 'a = "x"']],
])("splits %s as a shell does", (line, words) => {
  expect(splitWords(line)).toMatchObject({ words, open: undefined });
});

test.each([
  ["get docs 'a", "'"],
  ['get docs "a', '"'],
  ["get docs \\", "\\"],
])("a line continues after %s", (line, open) => {
  expect(splitWords(line).open).toBe(open);
});

test("a statement of SQL ends at a semicolon outside strings and comments", () => {
  expect(beginsSql("SELECT 1")).toBe(true);
  expect(beginsSql("tables")).toBe(false);
  expect(cutStatement("select ';' -- ;\n, $a$;$a$ /* ; */ from \"x;\"; ls")).toEqual({
    statement: "select ';' -- ;\n, $a$;$a$ /* ; */ from \"x;\"",
    rest: "ls",
  });
  expect(cutStatement("select 'a;")).toBeUndefined();
  expect(cutStatement("select 1")).toBeUndefined();
});

const MAIN = parseTarget("main");
const REPORTS = parseTarget("cloud://acme:main/reports");

test.each([
  [MAIN, "docs", "main/docs"],
  [MAIN, "reports/docs", "main/reports/docs"],
  [MAIN, "main/docs", "main/docs"],
  [MAIN, "main.docs", "main.docs"],
  [MAIN, "./main/docs", "main/main/docs"],
  [MAIN, "/other/docs", "other/docs"],
  [MAIN, "cloud://acme:main/docs", "cloud://acme:main/docs"],
  [REPORTS, "days", "cloud://acme:main/reports/days"],
  [REPORTS, "../docs", "cloud://acme:main/docs"],
  [REPORTS, "/main/docs", "main/docs"],
  [undefined, "main/docs", "main/docs"],
])("at %o, %s is %s", (location, typed, path) => {
  expect(resolvePath(location, typed, "table")).toBe(path);
});

test.each([
  ["ls", ["ls", "main"]],
  ["ls --tree", ["ls", "--tree", "main"]],
  ["ls /", ["ls"]],
  ["ls main", ["ls", "main"]],
  ["rows docs -n 2", ["rows", "main/docs", "-n", "2"]],
  ["get docs a b", ["get", "main/docs", "a", "b"]],
  ["errors", ["errors", "main"]],
  ["recompute docs title -f", ["recompute", "main/docs", "title", "-f"]],
  ["schema diff app.py", ["schema", "diff", "app.py", "main"]],
  ["query explain app.py by_n", ["query", "explain", "app.py", "main", "by_n"]],
  ["jobs cancel 019a", ["jobs", "cancel", "main", "019a"]],
  ["service stop ingest", ["service", "stop", "main/ingest"]],
  ["mv docs reports", ["mv", "main/docs", "main/reports"]],
  ["mv reports/ archive/", ["mv", "main/reports", "main/archive"]],
  ["rename reports/ texts", ["rename", "main/reports", "texts"]],
  ["history", ["history", "main"]],
  ["insert docs rows.csv", ["insert", "main/docs", "rows.csv"]],
  ["delete docs 1 2 -f", ["delete", "main/docs", "1", "2", "-f"]],
  ["key delete ci", ["key", "delete", "ci"]],
  ["secret set acme NAME=a", ["secret", "set", "acme", "NAME=a"]],
  ["rows --help", ["rows", "--help"]],
])("in the shell at main, %s has its target", async (line, words) => {
  expect(await placeWords({ leaves: LEAVES, nouns: NOUNS }, splitWords(line).words, MAIN)).toEqual(words);
});

test("db status at a hosted folder is that of its database", async () => {
  const words = await placeWords({ leaves: LEAVES, nouns: NOUNS }, ["db", "status"], REPORTS);
  expect(words).toEqual(["db", "status", "cloud://acme:main"]);
});

test("runs piped lines without prompts, at the target", async () => {
  expect(await pipe(["count docs", "", "# a comment", "pwd", "\\d", "cli count docs"])).toEqual({
    stdout: "7\nmain\nmain/docs     table   1 row  1 column\nmain/reports  folder\n7\n",
    stderr: "",
    exit: 0,
  });
});

test("cd goes to folders and databases that exist", async () => {
  const ran = await pipe(["cd reports", "pwd", "\\d days", "cd ..", "pwd", "cd /", "pwd", "cd", "pwd"]);
  expect(ran.stdout.split("\n").filter((line) => /^[\w/]+$/.test(line))).toEqual(["main/reports", "main", "/", "main"]);
  const refused = await pipe(["cd docs", "cd nowhere", "cd a b"]);
  expect(refused.stderr).toBe(
    [
      "error: main/docs is a table.\nhint: Show it: describe main/docs",
      "error: main/nowhere is not a folder.\nhint: List what there is: ls main",
      "error: cd takes one path.\nhint: Go to it: cd a\n",
    ].join("\n"),
  );
});

test("continues after a failure, and exits with the status of the last one", async () => {
  const client: DaemonAnswers = {
    ...DOCS,
    rowCount: async () => {
      throw appError("table_not_found", { detail: "Table main/nope does not exist." });
    },
  };
  const ran = await pipe(["rows", "count nope", "pwd"], "shell main", client);
  expect(ran).toMatchObject({ stdout: "main\n", exit: 1 });
  expect(ran.stderr).toContain("TABLE is missing.");
  expect((await pipe(["rwos docs", "pwd"])).stderr).toContain("hint: Did you mean: cli rows");
  expect((await pipe(["count docs", "exit", "count docs"])).stdout).toBe("7\n");
});

test("refuses a shell in the shell, and open quotes at the end", async () => {
  expect(await pipe(["shell main"])).toMatchObject({
    stderr: "error: You are in the shell already.\nhint: Go to another database: cd PATH\n",
    exit: 2,
  });
  expect((await pipe(["count 'docs"])).stderr).toContain("The quote ' is not closed.");
});

test("-c runs a line instead of the input", async () => {
  const ran = await runCli(["shell", "main", "-c", "count docs", "-c", "count docs --json"], { client: DOCS });
  expect(ran.stdout).toBe('7\n{\n  "path": "main/docs",\n  "count": 7\n}\n');
  expect((await runCli(["shell", "main", "-c", "count docs", "--json"], { client: DOCS })).stdout).toContain('"count"');
});

test("a target that does not exist is refused at the start", async () => {
  const ran = await pipe(["pwd"], "shell main/nowhere");
  expect(ran).toMatchObject({ stdout: "", exit: 1 });
  expect(ran.stderr).toContain("main/nowhere is not a folder.");
  expect((await pipe(["pwd"], "shell other")).stderr).toBe("error: There is no database other.\n");
});

const QUERY: CommandTable = {
  leaves: LEAVES,
  nouns: {
    query: {
      brief: "",
      has_plan: false,
      default_verb: "run",
      verbs: {
        run: {
          brief: "",
          load: async () =>
            defineCommand<JsonFlag & { readonly target: string }, [sql: string]>({
              brief: "",
              examples: [],
              parameters: {
                positional: { kind: "tuple", parameters: [{ brief: "", placeholder: "SQL", parse: String }] },
                flags: { target: { kind: "parsed", parse: String, brief: "", default: "main" } },
              },
              run: async () => undefined,
              render: () => undefined,
            }),
        },
      },
    },
  },
};

test("statements of SQL run at the location, over several lines", async () => {
  const ran: (readonly string[])[] = [];
  const runCommand = async (words: readonly string[]) => {
    ran.push(words);
    return 0;
  };
  const lines = ["select ';',", "  1; count docs", "table docs"];
  await runCli("shell main", {
    client: DOCS,
    piped: lines.map((line) => `${line}\n`),
    context: { commands: QUERY, runCommand },
  });
  expect(ran).toEqual([
    ["query", "run", "--target", "main", "select ';',\n  1"],
    ["count", "main/docs"],
    ["query", "run", "--target", "main", "table docs"],
  ]);
  expect(await placeWords(QUERY, ["query", "select 1"], REPORTS)).toEqual([
    "query",
    "--target",
    "cloud://acme:main/reports",
    "select 1",
  ]);
  expect(await placeWords(QUERY, ["query", "select 1", "--target", "/other"], REPORTS)).toEqual([
    "query",
    "select 1",
    "--target",
    "other",
  ]);
});

/** A session whose command ends by its signal, or never, and a promise of its begin. */
function openSession(endsBySignal: boolean) {
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const runCommand: Context["runCommand"] = async (_words, commandSignal) => {
    begin();
    return await new Promise((resolve) => {
      if (endsBySignal) commandSignal.addEventListener("abort", () => resolve(130));
    });
  };
  const tables = { tables: async () => [], databases: async () => [], refresh: () => undefined };
  const { signal } = new AbortController();
  const ctx = { signal, commands: QUERY, runCommand } as unknown as Context;
  return { session: new Session({ ctx, location: MAIN, tables, json: false }), begun };
}

test("an interruption cancels the running command, and the session continues", async () => {
  const { begun, session } = openSession(true);
  const running = session.feed("count docs");
  await begun;
  session.interrupt();
  await running;
  expect(session).toMatchObject({ exit: 130, is_over: false, prompt: "main> " });
});

test("a second interruption leaves a command that does not end", async () => {
  const { begun, session } = openSession(false);
  const running = session.feed("count docs");
  await begun;
  session.interrupt();
  session.interrupt();
  await running;
  expect(session.exit).toBe(130);
});

test("SQL is refused by name without the command that runs it", async () => {
  const commands = { leaves: LEAVES, nouns: {} };
  const ran = await runCli("shell main", { client: DOCS, piped: ["select 1;\n"], context: { commands } });
  expect(ran).toMatchObject({ exit: 2, stdout: "" });
  expect(ran.stderr).toContain("This version of the command runs no SQL.");
});

test("help lists what the shell has besides commands", async () => {
  const { stdout } = await pipe(["help", "help count"]);
  expect(stdout).toContain("cd PATH");
  expect(stdout).toContain("cli count main/docs");
});

test("keeps lines in a private file, without those that can have secrets", () => {
  const home = mkdtempSync(join(tmpdir(), "appdb-history-"));
  try {
    const history = openHistory(home);
    for (const line of ["count docs", "count docs", "secret set main A=b", "cli login", " ", "ls"]) history.add(line);
    expect(readFileSync(join(home, "shell-history"), "utf8")).toBe("count docs\nls\n");
    expect(statSync(join(home, "shell-history")).mode & 0o777).toBe(0o600);
    expect(openHistory(home).lines).toEqual(["count docs", "ls"]);
    expect(hasSecret("secret list main")).toBe(false);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

test.each([
  ["delete from docs;", true],
  ["INSERT INTO docs VALUES (1)", true],
  ["update docs set n = 1", true],
  ["drop table docs", true],
  ["create table x (n int)", true],
  ["delete docs 7", false],
  ["update docs 7 --set n=1", false],
  ["insert docs rows.csv", false],
  ["drop docs", false],
])("whether %j is SQL that writes: %s", (line, isSql) => {
  expect(writesBySql(line.split(" "))).toBe(isSql);
});
