import { createPgPool } from "@appdb/adapters/postgres/pg-pool";
import type { Manifest, ManifestRowRoute } from "@appdb/contract/manifest";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { type Endpoints, openEndpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { RouteRequest } from "@appdb/engine/endpoints/route";
import type { SqlPool } from "@appdb/engine/ports";
import { applySchema } from "@appdb/engine/schema/apply-schema";
import { ensureCatalog } from "@appdb/engine/schema/ensure-catalog";
import { loadCatalog } from "@appdb/engine/schema/load-catalog";
import { createFakeUdfRunner, type FakeStep } from "./fake-udf-runner.ts";
import {
  aColumn,
  aComputed,
  aFunction,
  aManifest,
  aTable,
  aUuid7Key,
  call,
  col,
  lit,
  udf,
} from "./manifest-builder.ts";
import { createSilentLog } from "./silent-log.ts";
import { createTestDatabase, type TestDatabase } from "./test-database.ts";

const route = (table: string, inputs: string[], outputs: string[], parts = {}): ManifestRowRoute => ({
  kind: "insert",
  method: "post",
  path: `/${table}`,
  table,
  inputs,
  outputs,
  on_error: "abort",
  handler: null,
  source: { file: "app.py", line: 9 },
  ...parts,
});

export const PLAIN_INPUTS = ["sku", "n", "price", "ok", "at", "day", "tag", "doc", "blob", "parts", "words"];
/** Nothing is computed: written by COPY. */
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
  tables: [PLAIN, DOCS, ITEMS, RIDES],
  functions: [aFunction("udfs:fare", "float")],
  services: [
    {
      name: "api",
      prefix: "",
      source: { file: "app.py", line: 1 },
      routes: [
        route("plain", PLAIN_INPUTS, PLAIN_INPUTS),
        route("docs", ["title"], ["loud", "title"]),
        route("items", ["sku", "n"], ["sku", "inv"]),
        route("items", ["sku", "n"], ["sku", "inv"], { path: "/ignoring-items", on_error: "ignore" }),
        route("rides", ["km"], ["km", "fare", "tax"]),
        route("rides", ["km"], ["km", "fare", "tax"], { path: "/ignoring", on_error: "ignore" }),
        route("rides", ["km"], ["tax"], { path: "/compute", kind: "compute" }),
      ],
    },
  ],
});

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Routes that take many rows, on a database of their own. */
export class ManyRowsStage implements AsyncDisposable {
  readonly #database: TestDatabase;
  readonly sql: SqlPool;
  /** Of the columns that Python computes. */
  readonly steps: Record<string, FakeStep>;
  #endpoints: Endpoints | undefined;

  private constructor(database: TestDatabase) {
    this.#database = database;
    this.sql = createPgPool({ dsn: database.dsn, max: 6, application_name: "many rows test" });
    this.steps = { fare: (row) => Number(row.km) * 2, tax: (row) => Number(row.fare) * 0.5 };
  }

  static async open(): Promise<ManyRowsStage> {
    const stage = new ManyRowsStage(await createTestDatabase());
    await ensureCatalog(stage.sql);
    return stage;
  }

  async update(manifest: Manifest, allow_destructive = false): Promise<void> {
    const { version } = await loadCatalog(this.sql);
    await applySchema(
      { sql: this.sql, clock: { now: Date.now }, log: createSilentLog() },
      { manifest, target: "main", catalog_version: version, allow_destructive, runtime_id: "r1" },
    );
  }

  async serve(limits: Partial<typeof DEFAULT_LIMITS> = {}): Promise<void> {
    await this.update(MANY_ROWS_MANIFEST);
    const udfRunner = createFakeUdfRunner(this.steps);
    this.#endpoints = await openEndpoints(
      { sql: this.sql, udf: () => udfRunner, log: createSilentLog(), clock: { now: Date.now } },
      { manifest: MANY_ROWS_MANIFEST, target: "main", services: ["api"], limits: { ...DEFAULT_LIMITS, ...limits } },
    );
  }

  async send(path: string, request: Partial<RouteRequest>): Promise<Answered> {
    const found = this.#endpoints?.routes.find((candidate) => candidate.path === path);
    const answer = await found?.handle({ body: "", headers: {}, id: "req-1", ...request });
    if (answer === undefined) throw new Error(`no route ${path}`);
    let text = "";
    if (typeof answer.body === "string") text = answer.body;
    else {
      const decoder = new TextDecoder();
      for await (const piece of answer.body as AsyncIterable<Uint8Array>)
        text += decoder.decode(piece, { stream: true });
    }
    return { status: answer.status, headers: answer.headers, text };
  }

  one(path: string, row: object): Promise<Answered> {
    return this.send(path, { body: JSON.stringify(row) });
  }

  /** Rows, or the text of an array. */
  array(path: string, rows: unknown, headers = {}): Promise<Answered> {
    return this.send(path, { body: typeof rows === "string" ? rows : JSON.stringify(rows), headers });
  }

  lines(path: string, text: string | Uint8Array, parts: Partial<RouteRequest> = {}): Promise<Answered> {
    return this.send(path, { stream: pieces(text), ...parts });
  }

  async rows(text: string): Promise<readonly (readonly (string | null)[])[]> {
    return (await this.sql.query({ text })).rows;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endpoints?.[Symbol.asyncDispose]();
    await this.sql[Symbol.asyncDispose]();
    await this.#database.drop();
  }
}

/** In small pieces, so that lines and letters are cut. */
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
