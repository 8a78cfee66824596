import type { Manifest } from "@appdb/contract/manifest";
import type { RouteRequest } from "@appdb/engine/routes/route";
import {
  aColumn,
  aComputed,
  aFunction,
  aManifest,
  aRowRoute,
  aTable,
  aUuid7Key,
  call,
  col,
  lit,
  udf,
} from "./manifest-builder.ts";
import { type Answered, openTestCatalog, type ServedRoutes, type ServeParts } from "./test-catalog.ts";

export const PLAIN_INPUTS = ["sku", "n", "price", "ok", "at", "day", "tag", "doc", "blob", "parts", "words"];
const DIRECT_INPUTS = PLAIN_INPUTS.filter((name) => name !== "parts" && name !== "words");
/** Nothing is computed, so it is written by COPY. */
export const PLAIN = aTable("plain", [
  aColumn("sku", "string", { primary_key: true }),
  aColumn("n", "int"),
  aColumn("price", "float", { nullable: true }),
  aColumn("ok", "bool", { nullable: true }),
  aColumn("at", "timestamp", { nullable: true }),
  aColumn("day", "date", { nullable: true }),
  aColumn("tag", "uuid", { nullable: true }),
  aColumn("doc", "json", { nullable: true }),
  aColumn("blob", "binary", { nullable: true }),
  aColumn("parts", "array", { nullable: true, type: { kind: "array", dtype: "float32" } }),
  aColumn("words", "array", { nullable: true, type: { kind: "array", dtype: "string" } }),
]);
/** The same without arrays, which COPY's binary format does not take. */
const DIRECT = aTable(
  "direct",
  PLAIN.columns.filter(({ type }) => type.kind !== "array"),
);
export const DOCS = aTable("docs", [
  aUuid7Key(),
  aColumn("title", "string"),
  aComputed("loud", call("string.upper", "string", col("title", "string"))),
]);
export const ITEMS = aTable("items", [
  aColumn("sku", "string", { primary_key: true }),
  aColumn("n", "int"),
  aComputed("inv", call("op.truediv", "float", lit("10", "int"), col("n", "int"))),
]);
export const RIDES = aTable("rides", [
  aUuid7Key(),
  aColumn("km", "int"),
  aComputed("fare", udf("udfs:fare", "float", col("km", "int"))),
  aComputed("tax", call("op.mul", "float", col("fare", "float"), lit(0.5, "float"))),
]);

export const MANY_ROWS_MANIFEST: Manifest = aManifest({
  tables: [PLAIN, DIRECT, DOCS, ITEMS, RIDES],
  functions: [aFunction("udfs:fare", "float")],
  services: [
    {
      name: "api",
      prefix: "",
      source: { file: "app.py", line: 1 },
      routes: [
        aRowRoute("plain", PLAIN_INPUTS, PLAIN_INPUTS),
        aRowRoute("direct", DIRECT_INPUTS, DIRECT_INPUTS),
        aRowRoute("docs", ["title"], ["loud", "title"]),
        aRowRoute("items", ["sku", "n"], ["sku", "inv"]),
        aRowRoute("items", ["sku", "n"], ["sku", "inv"], { path: "/ignoring-items", on_error: "ignore" }),
        aRowRoute("rides", ["km"], ["km", "fare", "tax"]),
        aRowRoute("rides", ["km"], ["km", "fare", "tax"], { path: "/ignoring", on_error: "ignore" }),
        aRowRoute("rides", ["km"], ["tax"], { path: "/compute", kind: "compute" }),
      ],
    },
  ],
});

export type ManyRows = Awaited<ReturnType<typeof openManyRows>>;

/** Routes that take many rows, on a test catalog. */
export async function openManyRows() {
  const catalog = await openTestCatalog();
  Object.assign(catalog.steps, {
    fare: (row) => Number(row.km) * 2,
    tax: (row) => Number(row.fare) * 0.5,
  } satisfies typeof catalog.steps);
  let served: ServedRoutes | undefined;
  const send = async (path: string, request: Partial<RouteRequest>): Promise<Answered> => {
    if (served === undefined) throw new Error("Nothing is served.");
    return await served.send(path, request);
  };
  return {
    ...catalog,
    send,
    async serve(limits: ServeParts["limits"] = {}): Promise<void> {
      await catalog.apply(MANY_ROWS_MANIFEST);
      served = await catalog.serve(MANY_ROWS_MANIFEST, { limits });
    },
    one: (path: string, row: object) => send(path, { body: JSON.stringify(row) }),
    /** Rows, or the text of an array. */
    array: (path: string, rows: unknown, headers = {}) =>
      send(path, { body: typeof rows === "string" ? rows : JSON.stringify(rows), headers }),
    lines: (path: string, text: string | Uint8Array, parts: Partial<RouteRequest> = {}) =>
      send(path, { stream: pieces(text), ...parts }),
  };
}

/** In small pieces that split lines and characters. */
async function* pieces(text: string | Uint8Array, size = 700): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export function linesOf(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at);
}
