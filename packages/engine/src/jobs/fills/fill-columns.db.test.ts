import { type AppError, appError } from "@appdb/contract/errors";
import { eventually } from "@appdb/testkit/eventually";
import { docs, excerptColumn, fakeWorkers, upperColumn, useJobsBench } from "@appdb/testkit/jobs-bench";
import { aComputed, call, col, lit } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { startRecompute } from "../plan-recompute.ts";
import { runJobs } from "../run-jobs.ts";
import { watchJobs } from "../watch-jobs.ts";

const { execute, rows, catalog, apply, insertDocs, insertPending, deps, finish, isInAgreement, transaction } =
  useJobsBench();
const title = col("title", "string");
const number = col("n", "int");

test("a new SQL column over 100,000 rows is filled and hidden until then", async () => {
  await apply(docs());
  await insertDocs(100_000);
  const manifest = docs(
    upperColumn("title_upper", "title"),
    aComputed("louder", call("op.add", "string", col("title_upper", "string"), lit("!", "string"))),
  );
  const jobs = await apply(manifest);
  expect(jobs).toHaveLength(1);
  const filling = (await catalog()).tables[0]?.columns.find((column) => column.name === "louder");
  expect(filling?.state).toBe("filling");
  expect(await isInAgreement(manifest)).toBe(true);
  const before = (await catalog()).version;
  const progress = await finish(jobs);
  expect(progress.at(-1)).toEqual({
    event: "progress",
    job: jobs[0],
    table: "docs",
    column: "louder",
    rows_done: 100_000,
    rows_total: 100_000,
    errors: 0,
  });
  expect(await rows("select count(*) from docs where louder = upper(title) || '!' and _errors is null")).toEqual([
    ["100000"],
  ]);
  const after = await catalog();
  expect(after.tables[0]?.columns.map((column) => column.state)).toEqual(["ready", "ready", "ready", "ready"]);
  expect(after.version).toBe(before + 1);
});

test("a Python column is filled with its SQL readers in the update's runtime", async () => {
  await apply(docs());
  await insertDocs(1_200);
  const { runner, udf: start, asked } = fakeWorkers({ excerpt: (row) => `<${row.title}>` });
  const jobs = await apply(docs(excerptColumn(), upperColumn("loud", "excerpt")));
  await finish(jobs, deps({ udf: start }));
  expect(asked).toEqual([["runtime-1", ["app"]]]);
  expect(runner.calls).toHaveLength(1_200);
  expect(runner.is_disposed).toBe(true);
  expect(await rows("select count(*) from docs where excerpt = '<' || title || '>' and loud = upper(excerpt)")).toEqual(
    [["1200"]],
  );
});

test("a raising function fails the update, names the row, and drops the column", async () => {
  await apply(docs());
  await insertDocs(1_000);
  const { udf: start } = fakeWorkers({
    excerpt: (row) => {
      if (row.title === "title 700") throw new Error("no excerpt for this one");
      return "fine";
    },
  });
  const jobs = await apply(docs(excerptColumn()));
  const failure = await finish(jobs, deps({ udf: start })).catch((error: unknown) => error as AppError);
  expect(failure).toMatchObject({
    code: "fill_failed",
    hint: expect.stringContaining("--on-error ignore"),
    meta: {
      table: "docs",
      column: "excerpt",
      function: "app:excerpt",
      type: "ValueError",
      message: "no excerpt for this one",
      // the table has no key, so other columns tell which row it is
      row: { n: "700", title: '"title 700"' },
      rows_total: 1_000,
    },
  });
  expect(failure).toHaveProperty(
    "meta.rows_done",
    expect.toSatisfy((done: number) => done > 0 && done <= 700),
  );
  const [table] = (await catalog()).tables;
  expect(table?.columns.map((column) => column.name)).toEqual(["title", "n"]);
  expect(await rows("select count(*) from information_schema.columns where column_name = 'excerpt'")).toEqual([["0"]]);
  expect(await isInAgreement(docs(excerptColumn()))).toBe(false);
});

test("the history says which columns a failed job dropped and restored", async () => {
  await apply(docs(upperColumn("loud", "title")));
  await insertDocs(10);
  const refuse = () => {
    throw new Error("no");
  };
  const both = docs(excerptColumn(), aComputed("loud", call("op.add", "string", col("excerpt", "string"), title)));
  const jobs = await apply(both);
  await expect(finish(jobs, deps({ udf: fakeWorkers({ excerpt: refuse }).udf }))).rejects.toThrow();
  expect(await rows("select path, change from appdb.changes order by id desc limit 2")).toEqual([
    ["docs", "restore column loud (its job failed)"],
    ["docs", "drop column excerpt (its job failed)"],
  ]);
});

test("Python reports the error of a value that SQL refuses", async () => {
  await apply(docs());
  await insertDocs(10);
  await execute({ text: "update docs set n = 0 where n = 4" });
  const quotient = call("op.truediv", "float", lit("10", "int"), number);
  const { runner, udf: start } = fakeWorkers({
    quotient: (row) => {
      if (row.n === 0) throw new Error("division by zero");
      return 10 / Number(row.n);
    },
  });
  const jobs = await apply(docs(aComputed("quotient", { ...quotient, nullable: true })));
  const failure = await finish(jobs, deps({ udf: start })).catch((error: unknown) => error as AppError);
  expect(failure).toMatchObject({ code: "fill_failed", meta: { message: "division by zero" } });
  expect(runner.calls).toHaveLength(10);
});

test("rows added by an older service during and after a fill are completed", async () => {
  await apply(docs());
  await insertDocs(300);
  const jobs = await apply(docs(excerptColumn()));
  await insertPending("while filling", ["excerpt"]);
  const { udf: start } = fakeWorkers({
    excerpt: (row) => {
      if (row.title === "bad") throw new Error("not \u0000 this one");
      return `<${row.title}>`;
    },
  });
  const stop = new AbortController();
  const running = runJobs(deps({ udf: start }), stop.signal);
  await watchJobs(deps(), jobs, () => undefined, stop.signal);
  for (const text of ["after", "bad", "again"]) await insertPending(text, ["excerpt"]);
  await eventually(async () => {
    expect(await rows('select count(*) from docs where _errors @> \'{"excerpt": "pending"}\'')).toEqual([["0"]]);
  });
  stop.abort();
  await running;
  expect(await rows("select title, excerpt, _errors::text from docs where title !~ '^title' order by title")).toEqual([
    ["after", "<after>", null],
    ["again", "<again>", null],
    ["bad", null, '{"excerpt": {"type": "ValueError", "message": "not \uFFFD this one", "function": "app:excerpt"}}'],
    ["while filling", "<while filling>", null],
  ]);
  expect(await rows("select count(*) from docs where excerpt is null")).toEqual([["1"]]);
});

test("a watched fill ends when the rows that others added meanwhile are complete", async () => {
  await apply(docs());
  await insertDocs(3);
  const jobs = await apply(docs(excerptColumn()));
  const { udf: start } = fakeWorkers({ excerpt: (row) => `<${row.title}>` });
  await finish(jobs, deps({ udf: start }));
  await insertPending("late", ["excerpt"]);
  const stop = new AbortController();
  let running = Promise.resolve();
  const onFilled = (): void => {
    running = runJobs(deps({ udf: start }), stop.signal);
  };
  await watchJobs({ ...deps(), onFilled }, jobs, () => undefined, stop.signal);
  expect(await rows("select excerpt from docs where title = 'late'")).toEqual([["<late>"]]);
  stop.abort();
  await running;
});

test("a pending row that commits while the job starts is found", async () => {
  await apply(docs(excerptColumn()));
  await insertPending("first", ["excerpt"]);
  const workers = fakeWorkers({ excerpt: (row) => `<${row.title}>` });
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  await transaction(async (connection) => {
    await insertPending("late", ["excerpt"], connection);
    running = runJobs(deps({ udf: workers.udf }), stop.signal);
    await new Promise((resolve) => setTimeout(resolve, 300));
  });
  await eventually(async () => expect(await rows("select count(*) from docs where excerpt is null")).toEqual([["0"]]));
  stop.abort();
  await running;
});

test("no pending row is missed while writers and runner race", async () => {
  await apply(docs(excerptColumn()));
  const { udf: start } = fakeWorkers({ excerpt: (row) => `<${row.title}>` });
  const stop = new AbortController();
  const running = runJobs(deps({ udf: start }), stop.signal);
  await Promise.all(
    Array.from({ length: 4 }, async (_, writer) => {
      for (let i = 0; i < 40; i++) await insertPending(`${writer} ${i}`, ["excerpt"]);
    }),
  );
  await eventually(async () => {
    expect(await rows("select count(*) from docs where excerpt = '<' || title || '>' and _errors is null")).toEqual([
      ["160"],
    ]);
  });
  stop.abort();
  await running;
});

test("a changed expression is recomputed for every row, with its readers", async () => {
  const reader = upperColumn("loud", "made");
  await apply(docs(upperColumn("made", "title"), reader));
  await insertDocs(20);
  await execute({ text: "update docs set made = upper(title), loud = upper(title)" });
  const changed = docs(aComputed("made", call("op.add", "string", title, lit("!", "string"))), reader);
  const jobs = await apply(changed);
  await finish(jobs);
  expect(await rows("select count(*) from docs where made = title || '!' and loud = upper(title) || '!'")).toEqual([
    ["20"],
  ]);
  expect(await isInAgreement(changed)).toBe(true);
});

test("a failed recompute restores values and expression, and the next update retries", async () => {
  const former = docs(upperColumn("excerpt", "title"));
  await apply(former);
  await insertDocs(200);
  await execute({ text: "update docs set excerpt = upper(title)" });
  const failing = fakeWorkers({
    excerpt: (row) => {
      if (row.title === "title 150") throw new Error("not today");
      return `<${row.title}>`;
    },
  });
  const jobs = await apply(docs(excerptColumn()));
  await expect(finish(jobs, deps({ udf: failing.udf }))).rejects.toMatchObject({
    code: "fill_failed",
    message: expect.stringContaining("keeps its previous expression and values"),
  });
  // some batches had been written
  expect(await rows("select rows_done > 0 from appdb.jobs")).toEqual([["t"]]);
  expect(await rows("select count(*) from pg_tables where tablename like 'undo%'")).toEqual([["0"]]);
  expect(await rows("select count(*) from docs where excerpt = upper(title)")).toEqual([["200"]]);
  expect(await isInAgreement(docs(excerptColumn()))).toBe(false);
  expect(await isInAgreement(former)).toBe(true);
  const working = fakeWorkers({ excerpt: (row) => `<${row.title}>` });
  await finish(await apply(docs(excerptColumn())), deps({ udf: working.udf }));
  expect(await rows("select count(*) from docs where excerpt = '<' || title || '>'")).toEqual([["200"]]);
  expect(await isInAgreement(docs(excerptColumn()))).toBe(true);
});

test("rows changed or deleted during computation get values of their current state", async () => {
  await apply(docs());
  await insertDocs(50);
  const workers = fakeWorkers({
    excerpt: async (row) => {
      if (row.title === "title 7") {
        await execute({ text: "update docs set title = 'changed' where title = 'title 7'" });
        await execute({ text: "delete from docs where title = 'title 8'" });
      }
      return `<${row.title}>`;
    },
  });
  await finish(await apply(docs(excerptColumn(), upperColumn("loud", "excerpt"))), deps({ udf: workers.udf }));
  expect(await rows("select count(*) from docs where excerpt = '<' || title || '>' and loud = upper(excerpt)")).toEqual(
    [["49"]],
  );
  expect(workers.runner.calls).toHaveLength(51);
});

/** A disk that is full after some batches. */
function diskOf(batches: number) {
  let left = batches;
  return async () => {
    left -= 1;
    if (left < 0) throw appError("disk_full", { detail: "The disk of main is full.", hint: "Raise disk_gb." });
  };
}

test("a fill ends when the disk is full, and drops what it made", async () => {
  await apply(docs());
  await insertDocs(12_000);
  const changed = docs(upperColumn("loud", "title"));
  const failure = await finish(await apply(changed), deps({ admit: diskOf(2) })).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: "disk_full",
    message:
      "The disk of main is full. The fill of table docs ended after 10000 of 12000 rows: its new columns were dropped.",
    hint: "Raise disk_gb.",
    meta: { table: "docs", rows_done: 10_000, rows_total: 12_000 },
  });
  expect(await rows("select state, attempts from appdb.jobs")).toEqual([["failed", "0"]]);
  expect(await rows("select count(*) from pg_attribute where attname = 'loud' and not attisdropped")).toEqual([["0"]]);
  await finish(await apply(changed));
  expect(await isInAgreement(changed)).toBe(true);
});

test("a fill that PostgreSQL finds without disk space ends and is not tried again", async () => {
  await apply(docs());
  await insertDocs(3);
  await execute({
    text: `create function is_full() returns trigger language plpgsql as $$
      begin raise exception 'could not extend file' using errcode = '53100'; end $$`,
  });
  await execute({ text: "create trigger full_disk before update on docs for each row execute function is_full()" });
  const { udf } = fakeWorkers({ excerpt: (row) => `<${row.title}>` });
  const failure = await finish(await apply(docs(excerptColumn())), deps({ udf })).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: "disk_full",
    message: expect.stringMatching(/^The disk of the database's machine is full.* its new columns were dropped\.$/),
    hint: expect.stringContaining("must free space"),
  });
  expect(await rows("select state, attempts from appdb.jobs")).toEqual([["failed", "0"]]);
});

test("a recompute that the full disk ends restores every value, and a cancelled one needs no space", async () => {
  await apply(docs(upperColumn("loud", "title")));
  await insertDocs(12_000);
  await execute({ text: "update docs set loud = 'before'" });
  const request = { folder: "public", table: "docs", columns: ["loud"], cascade: true, errors_only: false };
  const start = async (): Promise<string> => {
    let job: string | undefined;
    await transaction(async (sql) => {
      job = (await startRecompute(sql, { ...request, on_error: "abort" })).job;
    });
    return job ?? "";
  };
  await expect(finish([await start()], deps({ admit: diskOf(1) }))).rejects.toMatchObject({
    code: "disk_full",
    message: expect.stringContaining("after 5000 of 12000 rows: every row keeps its previous value"),
  });
  expect(await rows("select distinct loud from docs")).toEqual([["before"]]);
  const job = await start();
  const stop = new AbortController();
  await runJobs(
    deps({
      async admit() {
        const [[done] = []] = await rows("select rows_done from appdb.jobs order by seq desc limit 1");
        if (done !== "0") stop.abort();
      },
    }),
    stop.signal,
  );
  await execute({ text: "update appdb.jobs set is_cancelled = true where state = 'running'" });
  await expect(finish([job], deps({ admit: diskOf(0) }))).rejects.toMatchObject({ code: "job_cancelled" });
  expect(await rows("select distinct loud from docs")).toEqual([["before"]]);
});

test("rows of an older service are completed while the disk is full", async () => {
  await apply(docs(upperColumn("loud", "title")));
  await insertPending("late", ["loud"]);
  const [[job = ""] = []] = await rows("select id from appdb.jobs where kind = 'close_pending'");
  await finish([job ?? ""], deps({ admit: diskOf(0) }));
  expect(await rows("select loud from docs")).toEqual([["LATE"]]);
});
