import type { Manifest, ManifestColumn } from "@appdb/contract/manifest";
import type { SchemaPlan } from "@appdb/contract/plan";
import { fakeWorkers, useJobsBench } from "@appdb/testkit/jobs-bench";
import { aColumn, aComputed, aFunction, aManifest, aTable, call, col, lit, udf } from "@appdb/testkit/manifest-builder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import type { Recompute } from "./facts.ts";
import { planInspected } from "./inspect-plan.ts";
import { planSchema } from "./plan-schema.ts";
import { previewRecomputes } from "./preview-recompute.ts";

const bench = useJobsBench();
const { rows, catalog, apply, insertDocs, finish, deps } = bench;
const title = col("title", "string");

const STORED = [aColumn("title", "string"), aColumn("n", "int", { nullable: true })];

function docs(...columns: ManifestColumn[]): Manifest {
  return aManifest({
    tables: [aTable("docs", [...STORED, ...columns])],
    functions: [aFunction("app:excerpt", "string")],
  });
}

async function preview(manifest: Manifest, workers = fakeWorkers({})): Promise<Record<string, Recompute | undefined>> {
  const known = await catalog();
  const { sql, clock } = deps();
  const question = { manifest, catalog: known, target: "main" };
  const { operations } = await planInspected(sql, question);
  const recomputes = await previewRecomputes(
    { sql, clock, log: createSilentLog(), udf: workers.udf },
    { catalog: known, functions: manifest.functions, operations, runtime_id: "runtime-1" },
    new AbortController().signal,
  );
  const { plan } = planSchema({ ...question, facts: { rows: new Map(), misfits: new Map(), recomputes } });
  return Object.fromEntries(
    plan.tables.flatMap((table) =>
      table.ops.map((op) => [op.name ?? "", op.details.recompute as Recompute | undefined]),
    ),
  );
}

const upper = aComputed("up", call("string.upper", "string", title));

/** A computed column of a function with this code. */
function withDigest(digest: string): Manifest {
  const manifest = docs(aComputed("up", udf("app:excerpt", "string", title)));
  return { ...manifest, functions: [aFunction("app:excerpt", "string", { digest })] };
}

async function planOf(manifest: Manifest, recompute = false): Promise<SchemaPlan> {
  return (await planInspected(deps().sql, { manifest, catalog: await catalog(), target: "main", recompute })).plan;
}

test("a changed expression shows rows, time and samples, and stores nothing", async () => {
  await apply(docs(upper, aComputed("loud", call("op.add", "string", col("up", "string"), lit("!", "string")))));
  await insertDocs(50);
  await bench.execute({ text: "update docs set up = upper(title), loud = upper(title) || '!'" });
  const changed = docs(
    aComputed("up", call("string.lower", "string", title)),
    aComputed("loud", call("op.add", "string", col("up", "string"), lit("!", "string"))),
  );
  const before = await rows("select * from docs order by 1");
  const { up } = await preview(changed);
  expect(up).toMatchObject({ rows: 50, columns: ["up", "loud"], note: null });
  expect(up?.estimate_s).toBeGreaterThan(0);
  expect(up?.samples).toHaveLength(5);
  expect(up?.samples[0]).toEqual({
    key: { _row: expect.any(String) },
    old: "TITLE 1",
    new: "title 1",
    error: null,
  });
  expect(await rows("select * from docs order by 1")).toEqual(before);
});

/** A view of the rows below a number. */
function withView(below: number, made = call("string.upper", "string", title)): Manifest {
  const n = { ...col("n", "int"), nullable: true };
  const filter = {
    text: `n < ${below}`,
    expr: { ...call("op.lt", "bool", n, lit(String(below), "int")), nullable: true },
  };
  const view = { base: "docs", filter, columns: null };
  const small = aTable("small", [aComputed("up", made)], { primary_key: [], view });
  return { ...docs(), tables: [...docs().tables, small] };
}

test("a changed condition of a view shows the rows that enter or leave it", async () => {
  await apply(withView(10));
  await insertDocs(50);
  await bench.execute({ text: "update docs set n = substr(title, 7)::int" });
  const planned = planSchema({ manifest: withView(14), catalog: await catalog(), target: "main" }).plan;
  expect(planned.tables.flatMap(({ ops }) => ops.map(({ description }) => description))).toEqual([
    "the view will have the rows with n < 14 instead of n < 10",
    "column 'up': it will be computed for the rows that enter the view",
  ]);
  const { up } = await preview(withView(14));
  expect(up).toMatchObject({ rows: 4, columns: ["small.up"] });
  expect(up?.samples.map((sample) => sample.new)).toEqual(["TITLE 10", "TITLE 11", "TITLE 12", "TITLE 13"]);
});

test("the sample of a view leaves out rows that are not in it, before or after", async () => {
  await apply(withView(45));
  await insertDocs(50);
  await bench.execute({ text: "update docs set n = 51 - substr(title, 7)::int" });
  await bench.execute({ text: 'update docs set "small.up" = upper(title) where n < 45' });
  const lower = call("string.lower", "string", title);
  const { up } = await preview(withView(46, lower));
  expect(up).toMatchObject({ rows: 50, sampled: 45 });
  expect(up?.samples.map((sample) => [sample.old, sample.new])).toEqual([
    [null, "title 6"],
    ...[7, 8, 9, 10].map((n) => [`TITLE ${n}`, `title ${n}`]),
  ]);
});

/** A view with a row for each part of a title. */
function withParts(output: string): Manifest {
  const made = { name: output, type: { kind: "string" as const }, nullable: true, is_stored: true };
  const iterator = { fn: "app:parts", is_udf: true, args: [title], kwargs: {}, text: "parts(title)", outputs: [made] };
  const view = { base: "docs", filter: null, columns: null, iterator };
  const loud = aComputed("loud", call("string.upper", "string", col(output, "string", true)));
  const parts = aTable("parts", [loud], { primary_key: [], view });
  return { ...docs(), functions: [aFunction("app:parts", "string")], tables: [...docs().tables, parts] };
}

test("a sample has no values of rows that the update makes again", async () => {
  await apply(withParts("word"));
  await insertDocs(1);
  const made = "select uuidv7(), _row, 0, 'one', 'ONE' from docs";
  await bench.execute({ text: `insert into parts (_row, _base_row, pos, word, loud) ${made}` });
  const workers = fakeWorkers({ "parts.(rows)": () => '[["one"]]', loud: () => "ONE" });
  expect(await preview(withParts("token"), workers)).toMatchObject({
    parts: { rows: 1, columns: ["parts"] },
    loud: undefined,
  });
});

test("the sample calls application functions and shows failing rows first", async () => {
  await apply(docs(upper));
  await insertDocs(400);
  const workers = fakeWorkers({
    up: (row) => {
      if (row.title === "title 100") throw new Error("no excerpt");
      return `<${row.title}>`;
    },
  });
  const changed = docs(
    aComputed("up", udf("app:excerpt", "string", title)),
    aComputed("twice", call("op.add", "string", col("up", "string"), col("up", "string"))),
  );
  const { up, twice } = await preview(changed, workers);
  expect(up).toMatchObject({ rows: 400, columns: ["up", "twice"], sampled: 205 });
  expect(workers.runner.calls).toHaveLength(205);
  expect(workers.runner.is_disposed).toBe(true);
  const shown = up?.samples.map((sample) => sample.error ?? sample.new);
  expect(shown).toEqual([expect.stringContaining("no excerpt"), "<title 1>", "<title 2>", "<title 3>", "<title 4>"]);
  expect(twice?.samples[0]).toMatchObject({ old: null, new: null, error: expect.stringContaining("no excerpt") });
  expect(twice?.samples[1]).toMatchObject({ old: null, new: "<title 1><title 1>", error: null });
});

test("values are read as they will be: under new names, converted, and null in columns that are new", async () => {
  const key = aColumn("code", "string", { primary_key: true });
  const of = (...columns: ManifestColumn[]) => aManifest({ tables: [aTable("t", [key, ...columns])] });
  await apply(of(aColumn("a", "int"), aComputed("c", call("op.add", "int", col("a", "int"), lit("1", "int")))));
  await bench.execute({ text: "insert into t (_row, code, a, c) values (uuidv7(), 'k', 7, 8)" });
  const seen = await preview(
    of(
      aColumn("b", "float", { renamed_from: "a" }),
      aColumn("extra", "int", { nullable: true }),
      aComputed("c", call("op.add", "float", col("b", "float"), lit(0.5, "float"))),
      aComputed("e", call("op.add", "int", col("extra", "int", true), lit("1", "int"))),
    ),
  );
  expect(seen.c?.samples).toEqual([{ key: { code: "k" }, old: 8, new: 7.5, error: null }]);
  expect(seen.e?.samples).toEqual([{ key: { code: "k" }, old: null, new: null, error: null }]);
});

test("an empty table or an empty plan starts no Python", async () => {
  await apply(docs(upper));
  const workers = fakeWorkers({});
  expect(await preview(docs(aComputed("up", udf("app:excerpt", "string", title))), workers)).toEqual({ up: undefined });
  await insertDocs(1);
  expect(await preview(docs(upper), workers)).toEqual({});
  expect(workers.asked).toEqual([]);
});

test("without a worker, the plan reports the reason and continues", async () => {
  await apply(docs(upper));
  await insertDocs(3);
  const { up } = await preview(docs(aComputed("up", udf("app:excerpt", "string", title))), {
    ...fakeWorkers({}),
    udf: async () => {
      const { appError } = await import("@appdb/contract/errors");
      throw appError("worker_unavailable", { detail: "Python is away." });
    },
  });
  expect(up).toMatchObject({ rows: 3, estimate_s: null, samples: [], note: "Python is away." });
});

test("previous code of a function is noticed, recomputed on request, then known", async () => {
  await apply(withDigest("a"));
  expect((await planOf(withDigest("b"))).stale).toEqual([]);
  await insertDocs(3);
  const noticed = await planOf(withDigest("b"));
  expect(noticed).toMatchObject({
    in_agreement: true,
    stale: [{ table: "main/docs", column: "up", functions: ["app:excerpt"], command: "cli recompute main/docs up" }],
  });
  const asked = await planOf(withDigest("b"), true);
  expect(asked).toMatchObject({
    in_agreement: false,
    stale: [],
    tables: [{ ops: [{ details: { changes: ["code"] } }] }],
  });
  const workers = fakeWorkers({ up: (row) => `new ${row.title}` });
  await finish(await bench.apply(withDigest("b"), { recompute: true }), deps({ udf: workers.udf }));
  expect(await rows("select count(*) from docs where up = 'new ' || title")).toEqual([["3"]]);
  expect(await planOf(withDigest("b"))).toMatchObject({ in_agreement: true, stale: [] });
  expect((await planOf(withDigest("a"))).stale).toHaveLength(1);
});

test.each([
  ["new", docs()],
  ["changed", docs(upper)],
])("code that changes while a %s column is computed is noticed, and recomputed on request", async (_, before) => {
  await apply(before);
  await insertDocs(3);
  const [job = ""] = await bench.apply(withDigest("a"));
  expect((await planOf(withDigest("a"))).stale).toEqual([]);
  const noticed = { in_agreement: true, stale: [{ column: "up", functions: ["app:excerpt"] }] };
  expect(await planOf(withDigest("b"))).toMatchObject(noticed);
  await bench.apply(withDigest("b"));
  await finish([job], deps({ udf: fakeWorkers({ up: () => "by a" }).udf }));
  expect(await planOf(withDigest("b"))).toMatchObject(noticed);
  const [queued = ""] = await bench.apply(withDigest("b"), { recompute: true });
  expect(await planOf(withDigest("b"))).toMatchObject({ in_agreement: true, stale: [] });
  const [last = ""] = await bench.apply(withDigest("c"), { recompute: true });
  await finish([queued, last], deps({ udf: fakeWorkers({ up: () => "by c" }).udf }));
  expect(await planOf(withDigest("c"))).toMatchObject({ in_agreement: true, stale: [] });
  expect(await rows("select distinct up from docs")).toEqual([["by c"]]);
});

test("files are shown by their types and sizes", async () => {
  const photo = col("photo", "image");
  const shots = (fn: string): Manifest =>
    aManifest({
      tables: [aTable("shots", [aColumn("photo", "image"), aComputed("small", udf(fn, "image", photo))])],
      functions: [aFunction(fn, "image")],
    });
  const cell = (key: string, width = 64) =>
    JSON.stringify({ store: "home", key, type: "image/png", bytes: 9, width, height: 48 });
  await apply(shots("app:first"));
  await bench.execute({
    text: "insert into shots (_row, photo, small) values (uuidv7(), $1, $2)",
    values: [cell("00/photo.png"), cell("01/old.png")],
  });
  const workers = fakeWorkers({ small: () => cell("02/new.png", 32) });
  const { small } = await preview(shots("app:second"), workers);
  expect(small?.samples).toEqual([
    {
      key: { _row: expect.any(String) },
      old: "image/png 64x48 (old.png)",
      new: "image/png 32x48 (new.png)",
      error: null,
    },
  ]);
});

test("the estimate of a slow function takes the rows that are done in time", async () => {
  await apply(docs());
  await insertDocs(50);
  const never = new Promise<string>(() => {});
  const workers = fakeWorkers({ up: (row) => (row.title === "title 9" ? never : "up") });
  const { up } = await preview(docs(aComputed("up", udf("app:excerpt", "string", title))), workers);
  expect(up).toMatchObject({ rows: 50, sampled: 8, note: null, estimate_s: expect.any(Number) });
});
