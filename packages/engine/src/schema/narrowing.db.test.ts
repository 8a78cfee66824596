import type { ManifestColumn } from "@appdb/contract/manifest";
import type { SchemaPlan } from "@appdb/contract/plan";
import { useJobsBench } from "@appdb/testkit/jobs-bench";
import { aColumn, aComputed, aManifest, anIndex, aTable, call, col, lit } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { planInspected } from "./inspect-plan.ts";

const bench = useJobsBench();
const { rows, catalog, apply, finish, isInAgreement } = bench;
const execute = (text: string) => bench.execute({ text });

const KEY = aColumn("code", "string", { primary_key: true });
const of = (...columns: ManifestColumn[]) => aManifest({ tables: [aTable("t", [KEY, ...columns])] });
const storageOf = async (column: string) =>
  (
    await rows(`select data_type from information_schema.columns where table_name = 't' and column_name = '${column}'`)
  )[0]?.[0];

async function plan(manifest: ReturnType<typeof of>): Promise<SchemaPlan> {
  const { sql } = bench.deps();
  return (await planInspected(sql, { manifest, catalog: await catalog(), target: "main" })).plan;
}

test("null can always be allowed, and forbidden if no row has it", async () => {
  await apply(of(aColumn("n", "int", { nullable: true })));
  await execute("insert into t (_row, code, n) values (uuidv7(), 'a', 1)");
  await apply(of(aColumn("n", "int")));
  expect(await isInAgreement(of(aColumn("n", "int")))).toBe(true);
  await expect(execute("insert into t (_row, code) values (uuidv7(), 'b')")).rejects.toMatchObject({
    sqlstate: "23502",
  });
  await apply(of(aColumn("n", "int", { nullable: true })));
  await execute("insert into t (_row, code) values (uuidv7(), 'b')");
});

test("mismatching rows are counted, five are shown, and nothing changes", async () => {
  await apply(of(aColumn("n", "int", { nullable: true }), aColumn("r", "float", { nullable: true })));
  await execute(`insert into t (_row, code, n, r) select uuidv7(), 'k' || i, nullif(i % 2, 0), i + 0.5 * (i % 3)
    from generate_series(1, 12) i`);
  const narrow = of(aColumn("n", "int"), aColumn("r", "int", { nullable: true }));
  const planned = await plan(narrow);
  expect(planned.tables[0]).toMatchObject({ resolution: "unsupported" });
  const [n, r] = planned.tables[0]?.ops ?? [];
  expect(n).toMatchObject({
    severity: "unsupported",
    description:
      "column 'n': null would no longer be allowed; but 6 rows do not fit: no value " +
      `(code = "k2"; code = "k4"; code = "k6"; code = "k8"; code = "k10"; ...)`,
    details: { misfits: [{ rows: 6, reason: "no value" }] },
  });
  expect(r?.details.misfits).toEqual([
    {
      rows: 4,
      reason: "not an integer of 64 bits",
      examples: ["k1", "k4", "k7", "k10"].map((code, at) => ({ key: { code }, value: [1.5, 4.5, 7.5, 10.5][at] })),
    },
  ]);
  const before = await catalog();
  await expect(apply(narrow)).rejects.toMatchObject({
    code: "schema_unsupported",
    message: expect.stringContaining("6 rows do not fit: no value"),
  });
  expect(await catalog()).toEqual(before);
  await execute("update t set n = 0 where n is null");
  await execute("update t set r = trunc(r)");
  await apply(narrow);
  expect(await storageOf("r")).toBe("bigint");
  expect(await isInAgreement(narrow)).toBe(true);
});

test("media_validation= changes on a table with rows, and the catalog has it", async () => {
  const photo = (type: Partial<ManifestColumn["type"]>) =>
    of(aColumn("photo", "image", { type: { kind: "image", ...type } }));
  await apply(photo({}));
  await execute("insert into t (_row, code, photo) values (uuidv7(), 'a', '{}')");
  await apply(photo({ validation: "on_read" }));
  expect((await catalog()).tables[0]?.columns.find(({ name }) => name === "photo")?.type).toEqual({
    kind: "image",
    validation: "on_read",
  });
  expect(await isInAgreement(photo({}))).toBe(false);
  await apply(photo({}));
  expect(await isInAgreement(photo({}))).toBe(true);
});

test("an Int becomes a Float and back, and readers are recomputed", async () => {
  const table = (kind: "int" | "float") =>
    of(
      aColumn("n", kind),
      aComputed("more", call("op.add", kind, col("n", kind), lit(kind === "int" ? "1" : 1, kind))),
    );
  await apply(table("int"));
  await execute("insert into t (_row, code, n, more) select uuidv7(), 'k' || i, i, -1 from generate_series(1, 7) i");
  await finish(await apply(table("float")));
  expect([await storageOf("n"), await storageOf("more")]).toEqual(["double precision", "double precision"]);
  expect(await rows("select count(*) from t where more = n + 1")).toEqual([["7"]]);
  await finish(await apply(table("int")));
  expect([await storageOf("n"), await storageOf("more")]).toEqual(["bigint", "bigint"]);
  expect(await rows("select sum(more) from t")).toEqual([["35"]]);
  expect(await isInAgreement(table("int"))).toBe(true);
});

test("an Int without an exact Float stays an Int", async () => {
  await apply(of(aColumn("n", "int")));
  await execute("insert into t (_row, code, n) values (uuidv7(), 'big', 9007199254740993)");
  await expect(apply(of(aColumn("n", "float")))).rejects.toMatchObject({
    message: expect.stringContaining(
      `1 row does not fit: beyond 2^53, which a Float may not hold exactly (code = "big" has "9007199254740993")`,
    ),
  });
});

test("a retyped computed column is replaced with its index, and has its previous values until filled", async () => {
  const text = aComputed("size", call("string.upper", "string", col("body", "string")));
  const number = aComputed("size", call("string.len", "int", col("body", "string")));
  const table = (column: ManifestColumn) =>
    aManifest({ tables: [aTable("t", [KEY, aColumn("body", "string"), column], { indexes: [anIndex(["size"])] })] });
  await apply(table(text));
  await execute(
    "insert into t (_row, code, body, size) select uuidv7(), 'k' || i, repeat('x', i), 'X' from generate_series(1, 9) i",
  );
  const jobs = await apply(table(number));
  const before = (await catalog()).tables[0]?.columns.find((column) => column.name === "size");
  expect(before).toMatchObject({ state: "ready", type: { kind: "string" } });
  expect(await rows("select distinct size from t")).toEqual([["X"]]);
  await finish(jobs);
  expect(await rows("select sum(size) from t")).toEqual([["45"]]);
  expect(await rows("select indexname from pg_indexes where tablename = 't' and indexname like '%size%'")).toEqual([
    ["t(size)"],
  ]);
  expect(await isInAgreement(table(number))).toBe(true);
});

test("a computed column becomes a stored one with its values", async () => {
  const computed = of(
    aColumn("body", "string"),
    aComputed("up", call("string.upper", "string", col("body", "string"))),
  );
  await apply(computed);
  await execute(
    `insert into t (_row, code, body, up, _errors) values (uuidv7(), 'a', 'x', 'X', null), (uuidv7(), 'b', 'y', null, '{"up": {"type": "E"}}')`,
  );
  const stored = of(aColumn("body", "string"), aColumn("up", "string"));
  await expect(apply(stored)).rejects.toMatchObject({
    message: expect.stringContaining(`1 row does not fit: no value (code = "b")`),
  });
  const nullable = of(aColumn("body", "string"), aColumn("up", "string", { nullable: true }));
  await apply(nullable);
  expect(await rows("select up, _errors from t order by code")).toEqual([
    ["X", null],
    [null, null],
  ]);
  expect(await isInAgreement(nullable)).toBe(true);
  await expect(apply(computed)).rejects.toMatchObject({ message: expect.stringContaining("under another name") });
});

test("an array may allow more shapes, not fewer; Json may lose its schema", async () => {
  const array = (shape: (number | null)[] | null) =>
    of(aColumn("v", "array", { type: { kind: "array", dtype: "float32", shape } }));
  await apply(array([3]));
  await execute("insert into t (_row, code, v) values (uuidv7(), 'a', '{1,2,3}')");
  await apply(array([null]));
  await apply(array(null));
  expect(await isInAgreement(array(null))).toBe(true);
  await expect(apply(array([3]))).rejects.toMatchObject({ code: "schema_unsupported" });
});

test("a new Json schema is checked against existing values, and can be removed", async () => {
  const json = (schema?: Record<string, unknown>) =>
    of(aColumn("j", "json", { nullable: true, type: { kind: "json", ...(schema === undefined ? {} : { schema }) } }));
  const schema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
  await apply(json());
  await execute(`insert into t (_row, code, j) values (uuidv7(), 'good', '{"a": 1}'), (uuidv7(), 'null', null)`);
  await apply(json(schema));
  expect(await isInAgreement(json(schema))).toBe(true);
  await apply(json());
  await execute(`insert into t (_row, code, j) values (uuidv7(), 'bad', '{"a": "x"}')`);
  await expect(apply(json(schema))).rejects.toMatchObject({
    code: "schema_unsupported",
    message: expect.stringMatching(/1 row does not fit: .*\(code = "bad" has \{"a":"x"\}\)/),
  });
  expect(await isInAgreement(json())).toBe(true);
});
