import type { ManifestColumn } from "@appdb/contract/manifest";
import { eventually } from "@appdb/testkit/eventually";
import { excerptColumn, fakeWorkers, upperColumn, useJobsBench } from "@appdb/testkit/jobs-bench";
import { aColumn, aComputed, aFunction, aManifest, aTable, col, udf } from "@appdb/testkit/manifest-builder";
import { beforeEach, expect, test } from "vitest";
import { startRecompute } from "../plan-recompute.ts";
import { runJobs } from "../run-jobs.ts";

const { rows, apply, execute, insertDocs, deps, finish, transaction } = useJobsBench();

const ROWS = 2_000;
const STORED = [aColumn("title", "string"), aColumn("n", "int", { nullable: true })];
const title = col("title", "string");
const upTitle = upperColumn("up", "title");

function of(columns: readonly ManifestColumn[], name = "docs", renamedFrom: string | null = null) {
  return aManifest({
    tables: [aTable(name, columns, { renamed_from: renamedFrom })],
    functions: [aFunction("app:excerpt", "string")],
  });
}

/** Rows of which every third has an error in `up` and every fifth one in `excerpt`. */
beforeEach(async () => {
  await apply(of(STORED));
  await insertDocs(ROWS);
  const quick = fakeWorkers({ excerpt: (row) => `old ${row.title}` });
  await finish(await apply(of([...STORED, excerptColumn(), upTitle])), deps({ udf: quick.udf }));
  await execute({
    text: `update docs set up = case when n % 3 = 0 then null else up end, excerpt = case when n % 5 = 0 then null else excerpt end,
      _errors = nullif(case when n % 3 = 0 then '{"up": {"type": "E"}}'::jsonb else '{}' end
        || case when n % 5 = 0 then '{"excerpt": {"type": "F"}}'::jsonb else '{}' end, '{}')`,
  });
});

async function recomputeExcerpt(): Promise<string> {
  const request = { folder: "public", table: "docs", columns: ["excerpt"], cascade: false, errors_only: false };
  let job = "";
  await transaction(async (connection) => {
    job = (await startRecompute(connection, { ...request, on_error: "abort" })).job ?? "";
  });
  return job;
}

/** Pauses a job of `excerpt` after some rows, changes the tables, and continues to a row that fails. */
async function failAfter(change: () => Promise<unknown>, start = recomputeExcerpt): Promise<void> {
  const job = await start();
  const stuck = fakeWorkers({
    excerpt: (row) => {
      return Number(String(row.title).slice(6)) > ROWS / 2 ? new Promise<never>(() => undefined) : `new ${row.title}`;
    },
  });
  const stop = new AbortController();
  const running = runJobs(deps({ udf: stuck.udf }), stop.signal);
  await eventually(async () => {
    expect(await rows(`select rows_done > 100 from appdb.jobs where id = '${job}'`)).toEqual([["t"]]);
  });
  stop.abort();
  await running;
  expect(await rows(`select rows_done < ${ROWS} from appdb.jobs where id = '${job}'`)).toEqual([["t"]]);
  await change();
  const unlucky = (row: Readonly<Record<string, unknown>>) => {
    if (row.title === `title ${ROWS}`) throw new Error("unlucky");
    return "new";
  };
  const failing = fakeWorkers({ excerpt: unlucky, summary: unlucky });
  await expect(finish([job], deps({ udf: failing.udf }))).rejects.toMatchObject({
    code: start === recomputeExcerpt ? "recompute_failed" : "fill_failed",
  });
  expect(await rows("select count(*) from pg_tables where tablename like 'undo%'")).toEqual([["0"]]);
}

const valuesOf = (excerpt: string, up: string, table = "docs") =>
  rows(`select n, title, ${excerpt}, ${up}, _errors->'${excerpt}', _errors->'${up}' from ${table} order by n`);

test("columns and tables renamed meanwhile get their previous values and errors back", async () => {
  const before = await valuesOf("excerpt", "up");
  await failAfter(() =>
    apply(
      of(
        [
          ...STORED,
          { ...excerptColumn(), name: "summary", renamed_from: "excerpt" },
          { ...upTitle, name: "loud", renamed_from: "up" },
        ],
        "notes",
        "docs",
      ),
    ),
  );
  expect(await valuesOf("summary", "loud", "notes")).toEqual(before);
  expect(await rows("select distinct jsonb_object_keys(_errors) from notes order by 1")).toEqual([
    ["loud"],
    ["summary"],
  ]);
});

test("a stored column retyped meanwhile does not block the restore", async () => {
  const before = await valuesOf("excerpt", "up");
  const [title, n] = STORED;
  if (title === undefined || n === undefined) throw new Error("no columns");
  await failAfter(() => apply(of([title, { ...n, type: { kind: "float" } }, excerptColumn(), upTitle])));
  expect(await valuesOf("excerpt", "up")).toEqual(before);
});

test("a column dropped meanwhile leaves no error, and others are restored", async () => {
  const before = await rows("select n, excerpt, _errors->'excerpt' from docs order by n");
  await failAfter(() => apply(of([...STORED, excerptColumn()])));
  expect(await rows("select n, excerpt, _errors->'excerpt' from docs order by n")).toEqual(before);
  expect(await rows("select count(*) from docs where _errors ? 'up'")).toEqual([["0"]]);
});

test("a row that a person changed meanwhile keeps its values", async () => {
  await failAfter(() => execute({ text: "update docs set excerpt = 'mine', _errors = null where n = 3" }));
  expect(await rows("select n, excerpt from docs where excerpt not like 'old %'")).toEqual([["3", "mine"]]);
});

test("a stopping runner releases its job only after its write has finished", async () => {
  const quick = fakeWorkers({ excerpt: (row) => `new ${row.title}` });
  const request = { folder: "public", table: "docs", columns: ["excerpt"], cascade: false, errors_only: false };
  await transaction(async (connection) => {
    await startRecompute(connection, { ...request, on_error: "abort" });
  });
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  let hasEnded = false;
  await transaction(async (other) => {
    await other.query({ text: "select from docs where n = 1 for update" });
    running = runJobs(deps({ udf: quick.udf }), stop.signal).then(() => {
      hasEnded = true;
    });
    const waiting =
      "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await eventually(async () => expect(await rows(waiting)).toEqual([["1"]]));
    stop.abort();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(hasEnded).toBe(false);
  });
  await running;
  const [[done, written] = []] = await rows(
    "select (select rows_done from appdb.jobs order by seq desc limit 1), (select count(*) from docs where excerpt like 'new %')",
  );
  expect(Number(done)).toBeGreaterThan(0);
  expect(written).toBe(done);
});

test.each([
  ["nobody", "select 1", ["f", "f"]],
  ["others", "update docs set excerpt = 'newer' where n = 3", ["t", "t"]],
])("a replacement that fails after %s wrote rows says what must be computed again", async (_, text, stale) => {
  const loud = upperColumn("loud", "excerpt");
  await finish(await apply(of([...STORED, excerptColumn(), upTitle, loud])));
  const before = await rows("select n, excerpt, loud from docs where n <> 3 order by n");
  const other = {
    ...excerptColumn(),
    computed: aComputed("excerpt", udf("app:excerpt", "string", title, title)).computed,
  };
  await failAfter(
    () => execute({ text }),
    async () => (await apply(of([...STORED, other, upTitle, loud])))[0] ?? "",
  );
  expect(await rows("select n, excerpt, loud from docs where n <> 3 order by n")).toEqual(before);
  const states = await rows("select name, stale from appdb.columns where computed is not null order by name");
  expect(states).toEqual([
    ["excerpt", stale[0]],
    ["loud", stale[1]],
    ["up", "f"],
  ]);
});
