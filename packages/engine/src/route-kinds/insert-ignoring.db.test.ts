import type { ManifestTable } from "@appdb/contract/manifest";
import { FunctionGone } from "@appdb/testkit/fake-udf-runner";
import {
  aColumn,
  aComputed,
  aFunction,
  aManifest,
  aRowRoute,
  aTable,
  call,
  col,
  lit,
  udf,
} from "@appdb/testkit/manifest-builder";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UdfRunner } from "../ports.ts";

let catalog: TestCatalog;
let runner: UdfRunner;

beforeEach(async () => {
  catalog = await openTestCatalog();
  runner = catalog.udf;
});

afterEach(async () => {
  await catalog[Symbol.asyncDispose]();
});

/** km -> fare (Python) -> tax (SQL, reads fare); half (SQL only). */
const RIDES = [
  aColumn("km", "int"),
  aComputed("fare", udf("udfs:fare", "float", col("km", "int"))),
  aComputed("tax", call("op.mul", "float", col("fare", "float"), lit(0.5, "float"))),
  aComputed("part", call("op.truediv", "float", lit("10", "int"), col("km", "int"))),
];

async function serve(table: ManifestTable, onError: "abort" | "ignore" = "ignore") {
  const source = { file: "app.py", line: 1 };
  const outputs = table.columns.map((column) => column.name);
  const inputs = table.columns.flatMap((column) => (column.computed === null ? [column.name] : []));
  const route = aRowRoute(table.name, inputs, outputs, { path: "/in", on_error: onError });
  const strict = { ...route, path: "/strict", on_error: "abort" as const };
  const manifest = aManifest({
    tables: [table],
    functions: [aFunction("udfs:fare", "float")],
    services: [{ name: "api", prefix: "", routes: [route, strict], source }],
  });
  await catalog.apply(manifest, { allow_destructive: true });
  const { post } = await catalog.serve(manifest, { deps: { udf: () => runner } });
  return async (body: unknown, path = "/in") => {
    const { status, json, headers } = await post(path, body);
    return { status, json, failed: headers["x-cell-errors"] };
  };
}

function rows(text: string): ReturnType<TestCatalog["rows"]> {
  return catalog.rows(text);
}

function fareOf(row: Readonly<Record<string, unknown>>): number {
  if (Number(row.km) > 99) throw new Error("too far");
  return Number(row.km) * 2;
}

test("a failed cell is null with its error, which its readers carry on", async () => {
  catalog.steps.fare = fareOf;
  catalog.steps.part = (row) => 10 / Number(row.km);
  const post = await serve(aTable("rides", RIDES));
  expect(await post({ km: 100 })).toEqual({
    status: 200,
    json: { km: 100, fare: null, tax: null, part: 0.1 },
    failed: 'fare;type="ValueError", tax;type="CellError"',
  });
  expect(await post({ km: 5 })).toEqual({ status: 200, json: { km: 5, fare: 10, tax: 5, part: 2 }, failed: undefined });
  expect(await rows("select km, fare, tax, part, _errors->'fare', _errors->'tax' from rides order by km desc")).toEqual(
    [
      [
        "100",
        null,
        null,
        "0.1",
        '{"type": "ValueError", "message": "too far", "function": "udfs:fare"}',
        '{"type": "CellError", "column": "fare", "message": "fare has no value: ValueError: too far", "function": "udfs:fare"}',
      ],
      ["5", "10", "5", "2", null, null],
    ],
  );
});

test("a value that SQL refuses is null; other cells keep their values", async () => {
  catalog.steps.fare = fareOf;
  catalog.steps.part = () => {
    throw new Error("division by zero");
  };
  catalog.steps.tax = (row) => Number(row.fare) * 0.5;
  const post = await serve(aTable("rides", RIDES));
  expect(await post({ km: 0 })).toEqual({
    status: 200,
    json: { km: 0, fare: 0, tax: 0, part: null },
    failed: 'part;type="ValueError"',
  });
});

test("a missing function refuses the row and is named", async () => {
  catalog.steps.fare = () => {
    throw new FunctionGone("module udfs has no function 'fare'");
  };
  const post = await serve(aTable("rides", RIDES));
  for (const path of ["/in", "/strict"]) {
    expect(await post({ km: 5 }, path)).toMatchObject({
      status: 409,
      json: { code: "function_missing", detail: expect.stringContaining("it needs udfs:fare, which is missing") },
    });
  }
  expect(await rows("select count(*) from rides")).toEqual([["0"]]);
});

test("other routes of the same table refuse failures", async () => {
  catalog.steps.fare = fareOf;
  const post = await serve(aTable("rides", RIDES));
  expect(await post({ km: 100 }, "/strict")).toMatchObject({ status: 400, json: { code: "function_failed" } });
  expect(await post({ km: 1 }, "/strict")).toMatchObject({ status: 200, json: { fare: 2 } });
  expect(await rows("select count(*) from rides")).toEqual([["1"]]);
});

test("each of many rows gets its own response", async () => {
  catalog.steps.fare = fareOf;
  catalog.steps.part = (row) => 10 / Number(row.km);
  const post = await serve(aTable("rides", RIDES));
  const answers = await Promise.all(Array.from({ length: 200 }, (_, km) => post({ km: km + 1 })));
  answers.forEach(({ status, json }, at) => {
    expect([status, json.km, json.fare]).toEqual([200, at + 1, at < 99 ? (at + 1) * 2 : null]);
  });
  expect(await rows("select count(*), count(fare), count(tax), count(_errors), count(part) from rides")).toEqual([
    ["200", "99", "99", "101", "200"],
  ]);
});

test("a key without a value or a missing function still refuses the row", async () => {
  catalog.steps.fare = fareOf;
  const keyed = await serve(
    aTable("keyed", [
      aColumn("km", "int"),
      aComputed("fare", udf("udfs:fare", "float", col("km", "int")), { primary_key: true }),
    ]),
  );
  expect(await keyed({ km: 100 })).toMatchObject({ status: 400, json: { code: "function_failed" } });
  const post = await serve(aTable("rides", RIDES));
  const missing = { kind: "import", function: "udfs:fare", type: "ImportError", message: "no module udfs", at: null };
  runner = { ...runner, run: async () => ({ values: [null], errors: { fare: { ...missing, kind: "import" } } }) };
  expect(await post({ km: 1 })).toMatchObject({ status: 400, json: { code: "function_failed" } });
  expect(await rows("select count(*) from rides")).toEqual([["0"]]);
});
