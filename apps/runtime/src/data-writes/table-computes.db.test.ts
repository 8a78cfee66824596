import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { wholeText } from "@appdb/engine/answers/answers";
import { ComputeShare } from "@appdb/engine/routes/compute-share";
import type { CompiledRoute } from "@appdb/engine/routes/route";
import { aColumn, aComputed, aFunction, aManifest, aTable, call, col, udf } from "@appdb/testkit/manifest-builder";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { expect, test } from "vitest";
import { TableComputes } from "./table-computes.ts";

/** Columns that SQL computes, so that each set of outputs is another statement. */
const COMPUTED = Array.from({ length: 7 }, (_none, at) => `c${at}`);
const KEY = aColumn("key", "string", { primary_key: true });
const upper = COMPUTED.map((name) => aComputed(name, call("string.upper", "string", col("key", "string"))));
const slow = aComputed("slow", udf("app:slow", "string", col("key", "string")));
const MANIFEST = aManifest({
  tables: [aTable("words", [KEY, ...upper, slow])],
  functions: [aFunction("app:slow", "string")],
});

function open(catalog: TestCatalog, limits = DEFAULT_LIMITS): TableComputes {
  const { clock, log, sql, udf: runner } = catalog;
  return new TableComputes(
    { sql, udf: () => runner, log, clock, computes: new ComputeShare(limits) },
    { manifest: MANIFEST, target: "main", limits },
  );
}

async function send(route: CompiledRoute, rows: unknown): Promise<unknown> {
  const answer = await route.handle({ body: JSON.stringify(rows), headers: {}, id: "r" });
  if (typeof answer.body === "string" || Buffer.isBuffer(answer.body)) return JSON.parse(wholeText(answer));
  const pieces: Uint8Array[] = [];
  for await (const piece of answer.body) pieces.push(Buffer.from(piece));
  return JSON.parse(Buffer.concat(pieces).toString("utf8"));
}

/** Every set of computed columns with at least one. */
const SETS = Array.from({ length: 2 ** COMPUTED.length - 1 }, (_none, at) =>
  COMPUTED.filter((_name, bit) => (((at + 1) >> bit) & 1) === 1),
);

test("combinations of outputs leave no statements in PostgreSQL", async () => {
  await using catalog = await openTestCatalog();
  await catalog.apply(MANIFEST);
  await using computes = open(catalog);
  const statements = () => catalog.rows("select count(*) from pg_prepared_statements where statement like '%#row%'");
  for (const outputs of SETS) {
    const route = await computes.route({ name: "words", on_error: "abort", outputs });
    const expected = Object.fromEntries(outputs.map((name) => [name, "A"]));
    expect(await send(route, [{ key: "a" }])).toEqual([expected]);
  }
  expect(await statements()).toEqual([["0"]]);
});

test("a route that others replaced still answers its requests", async () => {
  await using catalog = await openTestCatalog();
  await catalog.apply(MANIFEST);
  await using computes = open(catalog);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  catalog.steps.slow = async ({ key }) => {
    await released;
    return `${key}!`;
  };
  const first = await computes.route({ name: "words", on_error: "abort", outputs: ["slow"] });
  const answer = send(first, [{ key: "a" }, { key: "b" }]);
  for (const outputs of SETS.slice(0, 40)) await computes.route({ name: "words", on_error: "abort", outputs });
  release();
  expect(await answer).toEqual([{ slow: "a!" }, { slow: "b!" }]);
  expect(await send(first, { key: "c" })).toEqual([{ slow: "c!" }]);
});

test("unread responses of all routes are limited together", async () => {
  await using catalog = await openTestCatalog();
  await catalog.apply(MANIFEST);
  await using computes = open(catalog, { ...DEFAULT_LIMITS, compute_bytes: 1_000 });
  const rows = Array.from({ length: 50 }, () => ({ key: "abc" }));
  const request = { body: JSON.stringify(rows), headers: {}, id: "r" };
  const unread = [];
  for (const outputs of SETS.filter(({ length }) => length === 1).slice(0, 6)) {
    const route = await computes.route({ name: "words", on_error: "abort", outputs });
    unread.push(await route.handle(request));
  }
  const last = await computes.route({ name: "words", on_error: "abort", outputs: ["c6"] });
  expect(await send(last, rows)).toMatchObject({ code: "overloaded", meta: { limit: "compute_bytes", value: 4_000 } });
  for (const { body } of unread) {
    if (typeof body === "object" && Symbol.asyncIterator in body) await body[Symbol.asyncIterator]().return?.();
  }
  expect(await send(last, rows)).toHaveLength(50);
});
