import { changeTable } from "@appdb/engine/table-changes/change-table";
import { Creations } from "@appdb/engine/table-changes/creations";
import { readableTables } from "@appdb/engine/views/view-tables";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { aCreation } from "@appdb/testkit/change-request";
import { eventually } from "@appdb/testkit/eventually";
import { fakeWorkers, useJobsBench } from "@appdb/testkit/jobs-bench";
import { aColumn, aComputed, aManifest, aTable, col, lit, udf } from "@appdb/testkit/manifest-builder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { watchChange } from "./watch-change.ts";

const bench = useJobsBench();

const DOCS = aTable("docs", [aColumn("id", "int", { primary_key: true }), aColumn("title", "string")]);
const AT_ALL = { base: "docs", filter: null, columns: null };
const PLAIN = aTable("v", [aComputed("one", lit("1", "int"))], { view: AT_ALL });
const BAD = aTable("v", [aComputed("bad", udf("app:bad", "string", col("title", "string")))], { view: AT_ALL });

/** The caller of a change leaves, as with Ctrl-C, before its job fails. */
test("reports what is undone after its caller has left", async () => {
  await bench.apply(aManifest({ tables: [DOCS, PLAIN] }));
  await bench.execute({ text: "insert into docs (_row, id, title) values (uuidv7(), 1, 't')" });
  await using sql = createPgPool({ dsn: bench.dsn(), max: 4, application_name: "changes" });
  const deps = { sql, clock: { now: Date.now }, log: createSilentLog() };
  const request = aCreation(BAD, "replace");
  const changed = await changeTable(deps, request);
  const names = async () => readableTables(await bench.catalog()).map(({ name }) => name);
  expect(await names()).toEqual(["docs", "v_replaced", "v"]);
  const told: (readonly string[])[] = [];
  const left = new AbortController();
  left.abort();
  const onFilled = async () => void told.push(await names());
  const hold = () => ({ [Symbol.dispose]: () => undefined });
  await expect(
    watchChange(
      { ...deps, creations: new Creations(), hold, onFilled },
      request,
      changed,
      () => undefined,
      left.signal,
    ),
  ).rejects.toThrow();
  expect(told).toEqual([]);
  const boom = () => {
    throw new Error("boom");
  };
  const failing = bench.deps({ udf: fakeWorkers({ "v.bad": boom }).udf });
  await expect(bench.finish(changed.jobs, failing)).rejects.toMatchObject({ code: "fill_failed" });
  await eventually(() => expect(told).toEqual([["docs", "v"]]));
});
