import type { OnError } from "@appdb/contract/jobs";
import { eventually } from "@appdb/testkit/eventually";
import { FunctionGone } from "@appdb/testkit/fake-udf-runner";
import { docs, excerptColumn, fakeWorkers, upperColumn, useJobsBench } from "@appdb/testkit/jobs-bench";
import { aComputed, call, col, lit } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { countRecompute, planRecompute, type RecomputeSelection, startRecompute } from "./plan-recompute.ts";
import { runJobs } from "./run-jobs.ts";

const { rows, catalog, apply, execute, insertDocs, deps, finish, transaction } = useJobsBench();

function request(columns: string[], onError: OnError, parts: Partial<RecomputeSelection> = {}): RecomputeSelection {
  return { folder: "public", table: "docs", columns, cascade: true, on_error: onError, errors_only: false, ...parts };
}

async function start(of: RecomputeSelection): Promise<string> {
  let job: string | undefined;
  await transaction(async (connection) => {
    job = (await startRecompute(connection, of)).job;
  });
  if (job === undefined) throw new Error("no job");
  return job;
}

/** A table of `count` rows with values in `excerpt` and its reader `loud`. */
async function fillDocs(count: number): Promise<void> {
  await apply(docs());
  await insertDocs(count);
  const first = fakeWorkers({ excerpt: (row) => `old ${row.title}` });
  await finish(await apply(docs(excerptColumn(), upperColumn("loud", "excerpt"))), deps({ udf: first.udf }));
}

const bad = /^title \d*7$/;
const failing = () =>
  fakeWorkers({
    excerpt: (row) => {
      if (bad.test(String(row.title))) throw new Error("unlucky");
      return `new ${row.title}`;
    },
  });

test("a column is recomputed with the columns that read it", async () => {
  await fillDocs(500);
  const workers = fakeWorkers({ excerpt: (row) => `new ${row.title}` });
  const progress = await finish([await start(request(["excerpt"], "abort"))], deps({ udf: workers.udf }));
  expect(progress.at(-1)).toMatchObject({ column: "loud", rows_done: 500, rows_total: 500 });
  expect(await rows("select count(*) from docs where excerpt = 'new ' || title and loud = upper(excerpt)")).toEqual([
    ["500"],
  ]);
  expect(await rows("select count(*) from pg_tables where tablename like 'undo%'")).toEqual([["0"]]);
});

test("with ignore failing cells are null with their error, and what reads them carries the cause", async () => {
  await fillDocs(100);
  await finish([await start(request(["excerpt"], "ignore"))], deps({ udf: failing().udf }));
  expect(
    await rows("select count(*) from docs where title !~ '7$' and loud = upper('new ' || title) and _errors is null"),
  ).toEqual([["90"]]);
  const message = "excerpt has no value: ValueError: unlucky";
  expect(await rows("select distinct excerpt, loud, _errors from docs where title ~ '7$'")).toEqual([
    [
      null,
      null,
      JSON.stringify({
        loud: { type: "CellError", column: "excerpt", message, function: "app:excerpt" },
        excerpt: { type: "ValueError", message: "unlucky", function: "app:excerpt" },
      })
        .replaceAll('":', '": ')
        .replaceAll(',"', ', "')
        .replaceAll("ValueError: ", "ValueError: "),
    ],
  ]);
  expect(await rows("select errors, rows_done from appdb.jobs order by seq desc limit 1")).toEqual([["20", "100"]]);
});

test("with abort a failing cell puts every row back to what it was", async () => {
  await fillDocs(400);
  const before = await rows("select title, excerpt, loud, _errors from docs order by _row");
  const late = fakeWorkers({
    excerpt: (row) => {
      if (row.title === "title 390") throw new Error("unlucky");
      return `new ${row.title}`;
    },
  });
  await expect(finish([await start(request(["excerpt"], "abort"))], deps({ udf: late.udf }))).rejects.toMatchObject({
    code: "recompute_failed",
    message: expect.stringContaining("Every row keeps its previous value."),
    hint: expect.stringContaining("--on-error ignore"),
    meta: { column: "excerpt", type: "ValueError" },
  });
  expect(await rows("select rows_done > 0 from appdb.jobs order by seq desc limit 1")).toEqual([["t"]]);
  expect(await rows("select title, excerpt, loud, _errors from docs order by _row")).toEqual(before);
  expect((await catalog()).tables[0]?.columns.some((column) => column.stale)).toBe(false);
  expect(await rows("select count(*) from pg_tables where tablename like 'undo%'")).toEqual([["0"]]);
});

test("a missing function removes no value, even with ignore", async () => {
  await fillDocs(40);
  const before = await rows("select title, excerpt, loud, _errors from docs order by _row");
  const gone = fakeWorkers({
    excerpt: () => {
      throw new FunctionGone("module app has no function 'excerpt'");
    },
  });
  for (const onError of ["ignore", "abort"] as const) {
    await expect(finish([await start(request(["excerpt"], onError))], deps({ udf: gone.udf }))).rejects.toMatchObject({
      code: "recompute_failed",
      message: expect.stringMatching(/it needs app:excerpt, which is missing: .*Every row keeps its previous value/),
      hint: expect.stringContaining("Restore the function"),
    });
    expect(await rows("select title, excerpt, loud, _errors from docs order by _row")).toEqual(before);
  }
});

test("errors_only recomputes only the failed cells", async () => {
  await fillDocs(100);
  await finish([await start(request(["excerpt"], "ignore"))], deps({ udf: failing().udf }));
  const again = fakeWorkers({ excerpt: (row) => `again ${row.title}` });
  const only = request(["excerpt"], "ignore", { errors_only: true });
  const plan = planRecompute(await catalog(), only);
  expect(await countRecompute(deps().sql, plan, true)).toBe(10);
  await finish([await start(only)], deps({ udf: again.udf }));
  expect(again.runner.calls).toHaveLength(10);
  expect(await rows("select count(*) from docs where loud = upper('again ' || title)")).toEqual([["10"]]);
  expect(await rows("select count(*) from docs where _errors is not null")).toEqual([["0"]]);
});

test("a column added later carries the errors of failed cells that it reads", async () => {
  await fillDocs(20);
  await finish([await start(request(["excerpt"], "ignore"))], deps({ udf: failing().udf }));
  const shout = aComputed("shout", call("op.add", "string", col("excerpt", "string"), lit("!", "string")));
  await finish(await apply(docs(excerptColumn(), upperColumn("loud", "excerpt"), shout)));
  expect(await rows("select title, shout, _errors->'shout'->>'column' from docs where n in (7, 8) order by n")).toEqual(
    [
      ["title 7", null, "excerpt"],
      ["title 8", "new title 8!", null],
    ],
  );
});

test("rows inserted meanwhile keep their values and do not wait", async () => {
  await fillDocs(1_000);
  let goOn = (): void => undefined;
  const mayEnd = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const workers = fakeWorkers({
    excerpt: async (row) => {
      await mayEnd;
      return `new ${row.title}`;
    },
  });
  const job = await start(request(["excerpt"], "abort"));
  const stop = new AbortController();
  const running = runJobs(deps({ udf: workers.udf }), stop.signal);
  await eventually(() => expect(workers.runner.calls.length).toBeGreaterThan(0));
  for (let i = 0; ; i++) {
    // rows that waited for those of the job would never be stored
    if (i === 20) goOn();
    await execute({
      text: `insert into docs (_row, title, excerpt, loud) select uuidv7(), 't' || i, 'new t' || i, upper('new t' || i)
        from generate_series($1::int, $1::int + 9) i`,
      values: [10_000 + 10 * i],
    });
    await rows("select count(*) from docs where excerpt is null");
    const [[state] = []] = await rows(`select state from appdb.jobs where id = '${job}'`);
    if (state === "done") break;
  }
  stop.abort();
  await running;
  expect(await rows("select count(*) from docs where excerpt <> 'new ' || title or loud <> upper(excerpt)")).toEqual([
    ["0"],
  ]);
});

test("slow rows are written as they finish, so a stop loses few", async () => {
  await fillDocs(30);
  let goOn = (): void => undefined;
  const mayEnd = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const workers = fakeWorkers({
    excerpt: async (row) => {
      if (Number(String(row.title).slice(6)) > 15) await mayEnd;
      return `new ${row.title}`;
    },
  });
  await start(request(["excerpt"], "ignore"));
  const stop = new AbortController();
  const running = runJobs(deps({ udf: workers.udf }), stop.signal);
  await eventually(async () => {
    const [[done] = []] = await rows("select rows_done from appdb.jobs order by seq desc limit 1");
    expect(Number(done)).toBeGreaterThan(5);
  });
  stop.abort();
  goOn();
  await running;
});

test("a table whose only computed column is being filled is refused by its name", async () => {
  await apply(docs());
  await insertDocs(1);
  const [job = ""] = await apply(docs(upperColumn("loud", "title")));
  const all = { folder: "public", table: "docs", path: "main/docs", columns: [], cascade: true } as const;
  const plan = async () =>
    planRecompute(await catalog(), { ...all, on_error: "abort", errors_only: false }).columns.map(({ name }) => name);
  await expect(plan()).rejects.toMatchObject({
    code: "invalid_request",
    message: "The column loud of main/docs is still computed for the first time. Nothing was recomputed.",
    hint: "Wait for its job: cli jobs list main/docs",
  });
  await finish([job]);
  expect(await plan()).toEqual(["loud"]);
});

test("columns that cannot be recomputed are refused by name", async () => {
  await apply(docs(excerptColumn()));
  const of =
    (columns: string[], table = "docs") =>
    async () =>
      planRecompute(await catalog(), request(columns, "abort", { table }));
  await expect(of(["title"])()).rejects.toMatchObject({ code: "invalid_request" });
  await expect(of(["excerp"])()).rejects.toMatchObject({ code: "column_not_found", hint: "Did you mean excerpt?" });
  await expect(of(["gray"])()).rejects.toMatchObject({
    code: "column_not_found",
    hint: "Its stored columns: title, n, excerpt. A column with stored=False is computed when it is read.",
  });
  await expect(of([], "dogs")()).rejects.toMatchObject({ code: "table_not_found", hint: "Did you mean docs?" });
});
