import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localMediaPlace } from "@appdb/contract/media-place";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import { aColumn, aComputed, aFunction, aManifest, aTable, col, udf } from "@appdb/testkit/manifest-builder";
import { openTestCatalog } from "@appdb/testkit/test-catalog";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { expect, test } from "vitest";
import { TableWrites } from "./table-writes.ts";

const KEY = aColumn("key", "string", { primary_key: true });

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
    await using writes = new TableWrites({
      ...catalog,
      limits: DEFAULT_LIMITS,
      runtimes: { find: () => ({ runtime: testRuntime(folder) }) } as never,
      manifests: { applied: async () => applied } as never,
      mediaOf: () => localMediaPlace(join(folder, "media"), {}),
      printAddress: (base, token) => base + token,
    });
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
