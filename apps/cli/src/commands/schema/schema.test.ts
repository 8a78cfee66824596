import { appError } from "@appdb/contract/errors";
import type { PlanOp, SchemaPlan, TablePlan } from "@appdb/contract/plan";
import type { Progress } from "@appdb/contract/routes/local";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { describe, expect, test } from "vitest";
import { APPLICATION, runCli } from "../../testing/fake-context.ts";

const PROGRESS: Progress = {
  event: "progress",
  job: "019a",
  table: "docs",
  column: "x",
  rows_done: 50,
  rows_total: 200,
  errors: 0,
};

function op(severity: PlanOp["severity"], description: string): PlanOp {
  return {
    name: null,
    op: severity === "additive" ? "add" : "drop",
    severity,
    description,
    requires_restart: false,
    status: null,
    target: "column",
    details: {},
    destructive: severity === "destructive",
  };
}

function table(resolution: TablePlan["resolution"], ops: PlanOp[] = []): TablePlan {
  const destructive = ops.some((op) => op.destructive);
  return {
    path: "main/docs",
    model_cls: "Docs",
    kind: "table",
    exists: true,
    resolution,
    ops,
    status: null,
    destructive,
    error_count: 0,
  };
}

const AGREED = schemaPlan({ tables: [table("up_to_date")], summary: { up_to_date: 1 } });
const ADDITIVE = schemaPlan({
  in_agreement: false,
  tables: [table("update_additive", [op("additive", "column 'author' will be added")])],
  summary: { update_additive: 1 },
});
const DESTRUCTIVE = schemaPlan({
  in_agreement: false,
  tables: [table("update_destructive", [op("destructive", "column 'body' will be dropped")])],
  summary: { update_destructive: 1, destructive: 1 },
});
const UNSUPPORTED = schemaPlan({
  in_agreement: false,
  tables: [
    table("unsupported", [
      op("unsupported", "column 'n' has another type"),
      op("destructive", "column 'body' will be dropped"),
    ]),
  ],
  summary: { unsupported: 1, destructive: 1 },
});

/** A daemon that returns `plan` and applies it on request; `applied` records those requests. */
function daemon(plan: SchemaPlan) {
  const applied: { catalog_version: number; allow_destructive: boolean }[] = [];
  const client = {
    schemaPlan: async () => plan,
    schemaApply: async (request: { catalog_version: number; allow_destructive: boolean }) => {
      applied.push({ catalog_version: request.catalog_version, allow_destructive: request.allow_destructive });
      return AGREED;
    },
  };
  return { client, applied };
}

describe("schema diff", () => {
  test("exits with 0 when there is nothing to do", async () => {
    const ran = await runCli("schema diff app.py main", daemon(AGREED));
    expect(ran).toMatchObject({ exit: 0, stderr: "" });
    expect(ran.stdout).toContain("= main/docs");
    expect(ran.stdout).toContain("up to date");
  });

  test("exits with 2 for changes and prints each with its severity", async () => {
    const ran = await runCli("schema diff app.py main", daemon(DESTRUCTIVE));
    expect(ran.exit).toBe(2);
    expect(ran.stdout).toContain("~ main/docs");
    expect(ran.stdout).toContain("    - column 'body' will be dropped  [DESTRUCTIVE]");
    expect(ran.stdout).toContain("1 DESTRUCTIVE");
  });

  test("--json prints only the plan", async () => {
    const ran = await runCli("schema diff app.py main --json", daemon(ADDITIVE));
    expect(JSON.parse(ran.stdout)).toEqual(ADDITIVE);
    expect(ran.exit).toBe(2);
  });

  test("names undeclared tables without exiting with 2", async () => {
    const ran = await runCli(
      "schema diff app.py main",
      daemon(schemaPlan({ extras: ["main/old"], summary: { extras: 1 } })),
    );
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toContain("! main/old");
  });

  test("names many undeclared tables in one line", async () => {
    const extras = ["a", "b", "c", "d", "e"].map((name) => `main/${name}`);
    const ran = await runCli("schema diff app.py main", daemon({ ...AGREED, extras }));
    expect(ran.stdout).toContain("! 5 tables not declared in app.py; left alone: main/a, main/b, main/c and 2 more\n");
    expect(ran.stdout.match(/not declared in app/g)).toHaveLength(1);
  });

  test("refuses an invalid target before reading anything", async () => {
    const ran = await runCli("schema diff app.py 1main");
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("error: '1main' is not valid");
    expect(ran.stderr).toContain("hint: Write for example: main");
  });

  test("reports an error of the file even when the daemon cannot start", async () => {
    const app = appError("app_invalid", { detail: "app.py:3: '(' was never closed", hint: "Close it." });
    const ran = await runCli("schema diff app.py main", {
      app,
      context: {
        daemon: {
          ensure: async () => {
            throw appError("daemon_failed", { detail: "no disk" });
          },
          find: async () => undefined,
          waitUntilGone: async () => undefined,
          endHung: async () => "SIGTERM" as const,
        },
      },
    });
    expect(ran).toMatchObject({
      exit: 1,
      stdout: "",
      stderr: "error: app.py:3: '(' was never closed\nhint: Close it.\n",
    });
  });
});

describe("schema update", () => {
  test("applies additive changes of the printed plan without asking", async () => {
    const given = daemon(ADDITIVE);
    const ran = await runCli("schema update app.py main", given);
    expect(ran.exit).toBe(0);
    expect(given.applied).toEqual([{ catalog_version: 7, allow_destructive: false }]);
    expect(ran.stdout).toContain("updated    main/docs");
  });

  test("without changes, still sends the functions' Python to the daemon", async () => {
    const given = daemon(AGREED);
    const ran = await runCli("schema update app.py main", given);
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toContain("up to date");
    expect(ran.stdout).not.toContain("updated");
    expect(given.applied).toEqual([{ catalog_version: 7, allow_destructive: false }]);
    expect(JSON.parse((await runCli("schema update app.py main --json", given)).stdout)).toEqual(AGREED);
  });

  test("a dry run without changes sends nothing to the daemon", async () => {
    const given = daemon(AGREED);
    expect((await runCli("schema update app.py main -n", given)).exit).toBe(0);
    expect(given.applied).toEqual([]);
  });

  test("--dry-run shows the plan, exits with 2 and applies nothing", async () => {
    const given = daemon(ADDITIVE);
    expect((await runCli("schema update app.py main -n", given)).exit).toBe(2);
    expect(given.applied).toEqual([]);
  });

  test("says that tables which need no change have the rows of another project", async () => {
    const plan = { ...AGREED, tables: AGREED.tables.map((table) => ({ ...table, project: "/desk" })) };
    for (const line of ["schema diff app.py main", "schema update app.py main"]) {
      const ran = await runCli(line, daemon(plan));
      expect([ran.exit, ran.stdout]).toEqual([0, expect.stringContaining("belongs to the project /desk\n")]);
      expect(ran.stdout).toMatch(
        /^! main\/docs: the rows are those of another project, and app\.py would share them; for rows of its own: cli schema update app\.py main_2$/m,
      );
    }
  });

  test("refuses destructive changes and names the command", async () => {
    const given = daemon(DESTRUCTIVE);
    const ran = await runCli("schema update app.py main", given);
    expect(ran.exit).toBe(3);
    expect(ran.stderr).toContain("hint: To do it anyway: cli schema update app.py main --allow-destructive -f\n");
    const asked = await runCli("schema update app.py main", { ...given, answer: true });
    expect(asked.stderr).toContain("hint: To do it anyway: cli schema update app.py main --allow-destructive\n");
    const forced = await runCli("schema update app.py main -f", given);
    expect(forced.stderr).toContain("hint: To do it anyway: cli schema update app.py main --allow-destructive -f\n");
    expect(given.applied).toEqual([]);
  });

  test("allowed destructive changes still need an answer or -f", async () => {
    const given = daemon(DESTRUCTIVE);
    const line = "schema update app.py main --allow-destructive";
    const unanswered = await runCli(line, given);
    expect(unanswered.exit).toBe(3);
    expect(unanswered.stderr).toContain("cli schema update app.py main --allow-destructive -f");
    expect((await runCli(line, { ...given, answer: false })).exit).toBe(3);
    expect(given.applied).toEqual([]);
    expect((await runCli(line, { ...given, answer: true })).exit).toBe(0);
    expect((await runCli(`${line} -f`, given)).exit).toBe(0);
    expect(given.applied).toHaveLength(2);
  });

  test("reports unsupported changes before refused ones", async () => {
    const ran = await runCli("schema update app.py main --json", daemon(UNSUPPORTED));
    expect(ran.exit).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({ code: "schema_unsupported" });
    expect(ran.stderr).toContain("column 'n' has another type");
  });

  test("says of a table of another project only to which it belongs", async () => {
    const tables = UNSUPPORTED.tables.map((one) => ({ ...one, project: "/home/ann/field" }));
    const ran = await runCli("schema update app.py main", daemon({ ...UNSUPPORTED, tables }));
    expect(ran.exit).toBe(1);
    expect(ran.stdout).toContain("belongs to the project /home/ann/field");
    expect(ran.stderr).toContain("main/docs belongs to the project /home/ann/field.");
    expect(ran.stdout + ran.stderr).not.toContain("column 'n'");
    expect(ran.stderr).toContain("hint: Use a database of your own: cli schema update app.py <name>");
  });

  test("a fill shows progress on stderr, as JSON lines with --json", async () => {
    const client = {
      schemaPlan: async () => ADDITIVE,
      schemaApply: async (_request: unknown, options?: { onProgress?: ((line: Progress) => void) | undefined }) => {
        options?.onProgress?.(PROGRESS);
        return AGREED;
      },
    };
    const people = await runCli("schema update app.py main", { client });
    expect(people.stderr).toContain("filling docs.x: 50 of 200 rows (25 %)");
    const programs = await runCli("schema update app.py main --json", { client });
    expect(JSON.parse(programs.stderr)).toEqual(PROGRESS);
    expect(JSON.parse(programs.stdout)).toEqual(AGREED);
  });

  test.each([
    { code: "commit_unknown", who: "PostgreSQL" },
    { code: "daemon_failed", who: "The daemon" },
  ] as const)("a fill that $code cuts off names its job", async ({ code, who }) => {
    const client = {
      schemaPlan: async () => ADDITIVE,
      schemaApply: async (_request: unknown, options?: { onProgress?: ((line: Progress) => void) | undefined }) => {
        for (const rowsDone of [1, 2]) options?.onProgress?.({ ...PROGRESS, rows_done: rowsDone });
        throw appError(code, { detail: "It broke.", hint: "Check whether the row exists before you send it again." });
      },
    };
    const ran = await runCli("schema update app.py main", { client });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain(
      `error: ${who} stopped or restarted. The job 019a continues when it runs.\nhint: See the progress: cli jobs list main\n`,
    );
    expect(ran.stderr).not.toContain("Check whether the row exists");
  });

  test("an update that PostgreSQL's end cuts off before the first row names the next command", async () => {
    const client = {
      schemaPlan: async () => ADDITIVE,
      schemaApply: async () => {
        throw appError("commit_unknown", { detail: "It broke.", hint: "Check whether the row exists." });
      },
    };
    expect((await runCli("schema update app.py main", { client })).stderr).toContain(
      "error: PostgreSQL stopped or restarted during the update. Jobs that had started continue when it runs.\nhint: See what is still pending: cli schema diff app.py main\n",
    );
  });

  test("a cancelled fill names the command that starts it again", async () => {
    const client = {
      schemaPlan: async () => ADDITIVE,
      schemaApply: async () => {
        throw appError("job_cancelled", {
          detail: "The fill was cancelled.",
          hint: "cli schema update <file> <target>",
        });
      },
    };
    expect((await runCli("schema update app.py main --on-error ignore", { client })).stderr).toContain(
      "error: The fill was cancelled.\nhint: To run it: cli schema update app.py main --on-error ignore\n",
    );
  });

  test("Ctrl-C during a fill explains that it continues and exits with 130", async () => {
    const interrupt = new AbortController();
    const client = {
      schemaPlan: async () => ADDITIVE,
      schemaApply: async () => {
        interrupt.abort();
        throw appError("interrupted", { detail: "The command was interrupted." });
      },
    };
    const ran = await runCli("schema update app.py main", { client, context: { signal: interrupt.signal } });
    expect(ran.exit).toBe(130);
    expect(ran.stderr).toContain("continues in the daemon");
    expect(ran.stderr).not.toContain("error:");
  });

  test("retries an equal plan after changes but never applies another one", async () => {
    const asked: number[] = [];
    const client = (later: SchemaPlan) => ({
      schemaPlan: async () => (asked.length === 0 ? ADDITIVE : { ...later, catalog_version: 8 }),
      schemaApply: async (request: { catalog_version: number }) => {
        asked.push(request.catalog_version);
        if (request.catalog_version === 8) return AGREED;
        throw appError("catalog_moved", { detail: "The tables of main changed.", hint: "Look at the new plan." });
      },
    });
    const same = await runCli("schema update app.py main", { client: client(ADDITIVE) });
    expect(same).toMatchObject({ exit: 0, stderr: "" });
    expect(asked).toEqual([ADDITIVE.catalog_version, 8]);
    asked.length = 0;
    const other = await runCli("schema update app.py main --allow-destructive -f", { client: client(DESTRUCTIVE) });
    expect(other.exit).toBe(1);
    expect(other.stderr).toContain("hint: Look at the new plan.");
    expect(asked).toEqual([ADDITIVE.catalog_version]);
  });

  test("keeps an error code of the daemon and prints no plan with --json", async () => {
    const client = {
      schemaPlan: async () => ADDITIVE,
      schemaApply: async () => {
        throw appError("catalog_moved", { detail: "The tables of main changed.", hint: "Try again." });
      },
    };
    const ran = await runCli("schema update app.py main --json", { client });
    expect(ran.exit).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({ code: "catalog_moved", hint: "Try again." });
  });
});

describe("schema check", () => {
  test("describes a valid file", async () => {
    const ran = await runCli("schema check app.py");
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toContain("app.py is valid: 1 table");
  });

  test("prints warnings on stderr and includes them in --json", async () => {
    const warning = "json.py is shadowed by Python's own module json: `import json` gives that one. Rename json.py.";
    const app = { ...APPLICATION, manifest: { ...APPLICATION.manifest, warnings: [warning] } };
    const ran = await runCli("schema check app.py", { app });
    expect(ran.exit).toBe(0);
    expect(ran.stderr).toContain(`warning: ${warning}`);
    expect(JSON.parse((await runCli("schema check app.py --json", { app })).stdout)).toMatchObject({
      valid: true,
      warnings: [warning],
    });
  });
});
