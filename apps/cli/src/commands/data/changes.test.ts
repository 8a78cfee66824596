import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { PlanOp, SchemaPlan } from "@appdb/contract/plan";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { expect, test } from "vitest";
import { type DaemonAnswers, runCli } from "../../testing/fake-context.ts";

const DROP: PlanOp = {
  name: "docs",
  op: "drop",
  severity: "destructive",
  description: "table 'docs' will be dropped with 3 rows",
  requires_restart: false,
  status: null,
  target: "table",
  details: {},
  destructive: true,
};

function planOf(path: string, op: PlanOp): SchemaPlan {
  const table = { path, model_cls: "Docs", kind: "table", exists: true, resolution: "update_destructive" } as const;
  return schemaPlan({ tables: [{ ...table, ops: [op], status: null, destructive: op.destructive, error_count: 0 }] });
}

/** A daemon that keeps what it was asked for. */
function daemon(plan: SchemaPlan): { readonly asked: unknown[]; readonly client: DaemonAnswers } {
  const asked: unknown[] = [];
  return {
    asked,
    client: {
      tableChange: async ({ change, dry_run: isDry }) => {
        asked.push([isDry, change]);
        return plan;
      },
    },
  };
}

const FORCED = { change: "drop_table", table: "docs", force: false, if_not_exists: "error" };

test("drop shows what goes, and needs a confirmation", async () => {
  const { asked, client } = daemon(planOf("main/docs", DROP));
  const refused = await runCli("drop main/docs", { client, cwd: import.meta.dirname });
  expect(refused.exit).not.toBe(0);
  expect(refused.stderr).toContain("main/docs: table 'docs' will be dropped with 3 rows");
  expect(refused.stderr).toContain("cli drop main/docs -f");
  expect(asked).toEqual([[true, FORCED]]);
  const done = await runCli("drop main/docs -f", { client, cwd: import.meta.dirname });
  expect([done.exit, done.stdout]).toEqual([0, "dropped  main/docs\n"]);
  expect(asked.at(-1)).toEqual([false, FORCED]);
});

test("drops and moves say from which folder they come, also outside of projects", async () => {
  const roots: unknown[] = [];
  const client: DaemonAnswers = {
    tableChange: async ({ project_root: root }) => {
      roots.push(root);
      return planOf("main/docs", DROP);
    },
  };
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "appdb-no-project-")));
  try {
    await runCli("drop-dir main/reports -r -n", { client, cwd: folder });
    await runCli("mv main/docs main/reports -n", { client, cwd: folder });
  } finally {
    rmSync(folder, { recursive: true });
  }
  expect(roots).toEqual([folder, folder]);
});

test("drop -n only shows what would go, with the services that use it", async () => {
  const broken = { service: "main/api", tables: ["main/docs"], app_file: "app.py", project_root: null };
  const plan = { ...planOf("main/docs", DROP), breaks: [{ ...broken, is_defined: true, is_destructive: false }] };
  const { asked, client } = daemon(plan);
  const shown = await runCli("drop main/docs -n --cascade", { client, cwd: import.meta.dirname });
  expect(shown.stdout).toBe("would drop  main/docs  (table 'docs' will be dropped with 3 rows)\n");
  expect(shown.exit).toBe(2);
  expect(shown.stderr).toContain("The running service main/api uses main/docs.");
  expect(asked).toEqual([[true, { ...FORCED, force: true }]]);
});

test.each(["drop main/docs", "drop-dir main/reports"])("cli %s -n of what is missing fails", async (words) => {
  const client: DaemonAnswers = {
    tableChange: () => {
      throw appError("table_not_found", { detail: "Table main/docs does not exist." });
    },
  };
  const ran = await runCli(`${words} -n`, { client, cwd: import.meta.dirname });
  expect(ran).toMatchObject({ exit: 1, stdout: "", stderr: "error: Table main/docs does not exist.\n" });
  expect((await runCli(`${words.split(" ")[0]} -n`, { client, cwd: import.meta.dirname })).exit).toBe(1);
});

test("drop-dir drops a folder within the database", async () => {
  const op: PlanOp = { ...DROP, name: "main/reports/old", target: "folder", destructive: false };
  const { asked, client } = daemon(schemaPlan({ ops: [op] }));
  expect((await runCli("drop-dir main/reports/old -r -f", { client, cwd: import.meta.dirname })).stdout).toBe(
    "dropped  main/reports/old\n",
  );
  expect(asked.at(-1)).toEqual([
    false,
    { change: "drop_folder", folder: "reports/old", force: true, if_not_exists: "error" },
  ]);
});

test("rename gives another name in the same folder, and mv another folder", async () => {
  const { asked, client } = daemon(planOf("main/papers", { ...DROP, op: "alter", destructive: false }));
  expect((await runCli("rename main/reports/docs papers", { client, cwd: import.meta.dirname })).stdout).toBe(
    "renamed  main/reports/docs to main/reports/papers\n",
  );
  expect((await runCli("mv main/reports/docs main", { client, cwd: import.meta.dirname })).stdout).toBe(
    "moved  main/reports/docs to main/docs\n",
  );
  expect(asked).toEqual([
    [false, { change: "move_table", table: "reports/docs", to: "reports/papers" }],
    [false, { change: "move_table", table: "reports/docs", to: "docs" }],
  ]);
  expect((await runCli("mv main/docs other/reports", { client, cwd: import.meta.dirname })).stderr).toContain(
    "cannot move to another database",
  );
  expect((await runCli("rename main/docs a/b", { client, cwd: import.meta.dirname })).stderr).toContain(
    "is not a valid table name",
  );
});

test("rename and mv of a folder send the same change, and -n only shows what would move", async () => {
  const op: PlanOp = {
    ...DROP,
    op: "alter",
    destructive: false,
    description: "the table will be moved from 'old/docs'",
  };
  const folder: PlanOp = {
    ...op,
    name: "main/a/old",
    target: "folder",
    description: "the folder will be moved from 'old'",
  };
  const plan = { ...planOf("main/a/old/docs", op), ops: [folder] };
  const { asked, client } = daemon(plan);
  const shown = await runCli("mv main/old main/a -n", { client, cwd: import.meta.dirname });
  expect(shown).toMatchObject({
    exit: 2,
    stdout: `would move  main/old to main/a/old
  main/a/old/docs  (the table will be moved from 'old/docs')
  main/a/old  (the folder will be moved from 'old')
`,
  });
  const json = await runCli("rename main/old new -n --json", { client, cwd: import.meta.dirname });
  expect(JSON.parse(json.stdout)).toMatchObject({ from: "main/old", to: "main/new", ops: [{ target: "folder" }] });
  expect((await runCli("mv main/old main/a", { client, cwd: import.meta.dirname })).exit).toBe(0);
  expect(asked).toEqual([
    [true, { change: "move_table", table: "old", to: "a/old" }],
    [true, { change: "move_table", table: "old", to: "new" }],
    [false, { change: "move_table", table: "old", to: "a/old" }],
  ]);
  const same = daemon(schemaPlan({}));
  const nothing = await runCli("mv main/old main -n", { client: same.client, cwd: import.meta.dirname });
  expect(nothing).toMatchObject({ exit: 0, stdout: "main/old: nothing to do\n" });
});

test("history lists changes, the newest first", async () => {
  let sent: unknown;
  const client: DaemonAnswers = {
    historyList: async (query) => {
      sent = query;
      const entry = { version: 4, changed_at: "2026-01-02T03:04:05.000Z", table: "docs", made_by: "app.py" };
      return [{ ...entry, changes: ["add column a", "drop index 'b'"] }];
    },
  };
  expect((await runCli("history main/docs -n 5", { client, cwd: import.meta.dirname })).stdout).toBe(
    "4  2026-01-02T03:04:05.000Z  docs  add column a, drop index 'b'  app.py\n",
  );
  expect(sent).toEqual({ table: "docs", limit: 5 });
});

test("an error of the daemon is the command's", async () => {
  const client: DaemonAnswers = {
    tableChange: async () => {
      throw appError("has_dependents", { detail: "main/docs is needed by the view 'many'.", hint: "Drop it first." });
    },
  };
  expect((await runCli("drop main/docs -f", { client, cwd: import.meta.dirname })).stderr).toBe(
    "error: main/docs is needed by the view 'many'.\nhint: Drop it first.\n",
  );
});
