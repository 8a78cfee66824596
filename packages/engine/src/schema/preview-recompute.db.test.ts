import type { Manifest, ManifestColumn } from "@appdb/contract/manifest";
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
function withView(below: number): Manifest {
  const n = { ...col("n", "int"), nullable: true };
  const filter = {
    text: `n < ${below}`,
    expr: { ...call("op.lt", "bool", n, lit(String(below), "int")), nullable: true },
  };
  const view = { base: "docs", filter, columns: null };
  const small = aTable("small", [aComputed("up", call("string.upper", "string", title))], { primary_key: [], view });
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
  expect((await preview(withView(14))).up).toMatchObject({ rows: 4, columns: ["small.up"] });
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
  const withDigest = (digest: string) => {
    const manifest = docs(aComputed("up", udf("app:excerpt", "string", title)));
    return { ...manifest, functions: [aFunction("app:excerpt", "string", { digest })] };
  };
  const planOf = async (manifest: Manifest, recompute = false) =>
    (await planInspected(deps().sql, { manifest, catalog: await catalog(), target: "main", recompute })).plan;
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
