import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import type { Manifest } from "@appdb/contract/manifest";
import { localMediaPlace } from "@appdb/contract/media-place";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import { readableTables } from "@appdb/engine/views/view-tables";
import { aColumn, aComputed, aFunction, aManifest, aTable, col, lit, udf } from "@appdb/testkit/manifest-builder";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { expect, test } from "vitest";
import { TableWrites, type WritableTable } from "./table-writes.ts";

const KEY = aColumn("key", "string", { primary_key: true });

/** Opens the writes of a catalog's tables. The functions of r1 are those of `applied`, in modules of `folder`. */
function openWrites(catalog: TestCatalog, folder: string, applied: Manifest): TableWrites {
  const runtime = testRuntime(folder);
  return new TableWrites({
    ...catalog,
    limits: DEFAULT_LIMITS,
    runtimes: { find: () => ({ runtime }) } as never,
    plain_runtime: runtime,
    manifests: { applied: async () => applied } as never,
    mediaOf: () => localMediaPlace(join(folder, "media"), {}),
    printAddress: (base, token) => base + token,
  });
}

/** A column calls a function that neither the applied manifest nor the database has: the routes of its table cannot be opened. */
test("an attempt that fails leaves no folder of its process behind", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-writes-"));
  try {
    await using catalog = await openTestCatalog();
    const loud = aComputed("loud", udf("app:shout", "string", col("key", "string")));
    const tables = [aTable("photos", [KEY, aColumn("picture", "image"), loud])];
    await catalog.apply(aManifest({ tables, functions: [aFunction("app:shout", "string")] }), { runtime_id: "r1" });
    await catalog.sql.query({ text: "delete from appdb.functions" });
    const applied = aManifest({ tables });
    await using writes = openWrites(catalog, folder, applied);
    const [table] = (await loadCatalog(catalog.sql)).tables;
    if (table === undefined) throw new Error("The table is missing.");
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const refused = writes.use(table, "main", async () => undefined);
      await expect(refused).rejects.toMatchObject({ code: "schema_mismatch" });
    }
    for (const part of ["uploads", "scratch"]) expect(readdirSync(join(folder, "media", part))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** An iterator view that a change without functions created, over a table with a function: each has another runtime. */
test("rows of a table and of an iterator view over it are written together", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-writes-"));
  try {
    writeFileSync(
      join(folder, "app.py"),
      "import appdb as db\n\n@db.udf\ndef shout(text: str) -> str:\n    return text + '!'\n",
    );
    await using catalog = await openTestCatalog();
    const loud = aComputed("loud", udf("app:shout", "string", col("key", "string")));
    const docs = aTable("docs", [KEY, loud]);
    const applied = aManifest({ tables: [docs], functions: [aFunction("app:shout", "string")] });
    await catalog.apply(applied, { runtime_id: "r1" });
    const output = { name: "text", type: { kind: "string" as const }, nullable: false, is_stored: true };
    const args = [col("key", "string"), lit("sentence", "string")];
    const split = { fn: "string.string_splitter", is_udf: false, args, kwargs: {}, text: "", outputs: [output] };
    const view = { base: "docs", filter: null, columns: null, iterator: split };
    const tables = [docs, aTable("parts", [], { view }), aTable("loans", [KEY])];
    await catalog.apply(aManifest({ tables }), { runtime_id: null });
    expect(await catalog.rows("select name, runtime_id from appdb.tables order by name")).toEqual([
      ["docs", "r1"],
      ["loans", null],
      ["parts", null],
    ]);
    await using writes = openWrites(catalog, folder, applied);
    const insert = async (name: string, key: string) => {
      const table = readableTables(await loadCatalog(catalog.sql)).find((one) => one.name === name);
      if (table === undefined) throw new Error("The table is missing.");
      const request = { body: JSON.stringify([{ key }]), headers: {}, id: "r" };
      return await writes.use(table, "main", async (opened) => (await opened.insert("abort").handle(request)).status);
    };
    expect(await insert("loans", "k")).toBe(200);
    expect(await insert("docs", "One. Two.")).toBe(200);
    expect(await catalog.rows("select loud from docs")).toEqual([["One. Two.!"]]);
    expect(await catalog.rows("select text from parts order by pos")).toEqual([["One."], ["Two."]]);
    const parts = readableTables(await loadCatalog(catalog.sql)).find(({ name }) => name === "parts");
    const made = await writes.use(parts as never, "main", async ({ compute }) => {
      const route = await compute({ on_error: "abort", outputs: undefined });
      const { body } = await route.handle({ body: JSON.stringify({ key: "Four. Five." }), headers: {}, id: "r" });
      return await json(Readable.from(body));
    });
    expect(made).toMatchObject([{ text: "Four." }, { text: "Five." }]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** What changed the tables has not told the writes, so the first request finds it. */
test("writes of tables that have changed are opened again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-writes-"));
  try {
    await using catalog = await openTestCatalog();
    const tables = [aTable("docs", [KEY, aColumn("note", "string", { nullable: true })])];
    await catalog.apply(aManifest({ tables }));
    await using writes = openWrites(catalog, folder, aManifest({ tables }));
    const insert = async (key: string) => {
      const [table] = readableTables(await loadCatalog(catalog.sql));
      if (table === undefined) throw new Error("The table is missing.");
      const request = { body: JSON.stringify([{ key }]), headers: {}, id: "r" };
      const run = async ({ insert: open }: WritableTable) => await open("abort").handle(request);
      return await json(Readable.from((await writes.use(table, "main", run)).body));
    };
    expect(await insert("a")).toMatchObject([{ key: "a" }]);
    await catalog.apply(aManifest({ tables: [aTable("docs", [KEY])] }), { allow_destructive: true });
    const refused = await insert("b");
    expect(refused).toMatchObject({ code: "schema_changed", detail: expect.stringContaining("docs.note was dropped") });
    expect(JSON.stringify(refused)).not.toContain("service");
    expect(await insert("b")).toMatchObject([{ key: "b" }]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
