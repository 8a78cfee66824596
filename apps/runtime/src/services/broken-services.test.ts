import type { ManifestTable } from "@appdb/contract/manifest";
import { aColumn, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { expect, test } from "vitest";
import { findBrokenServices } from "./broken-services.ts";

const BEFORE = aTable("docs", [aColumn("title", "string"), aColumn("area", "string", { nullable: true })]);
const running = [{ service: "desk", target: "main", manifest: aManifest({ tables: [BEFORE] }) }];

/** Services that an update to `after` breaks. */
function broken(after: ManifestTable): string[] {
  const known = {
    path: `main/${after.name}`,
    model_cls: "Docs",
    kind: "table" as const,
    exists: true,
    status: null,
    resolution: "update_additive" as const,
    destructive: false,
    error_count: 0,
  };
  const op = { name: "x", op: "alter", severity: "additive", description: "", requires_restart: false } as const;
  const ops = [{ ...op, status: null, target: "column", details: {}, destructive: false } as const];
  const plan = schemaPlan({ tables: [{ ...known, ops }] });
  return findBrokenServices(plan, aManifest({ tables: [after] }), running);
}

const columns = BEFORE.columns;
const [title = aColumn("title", "string"), area = aColumn("area", "string")] = columns;

test.each<[string, ManifestTable]>([
  ["a renamed column", { ...BEFORE, columns: [title, { ...area, name: "zone", renamed_from: "area" }] }],
  ["a dropped column", { ...BEFORE, columns: [title] }],
  ["another type", { ...BEFORE, columns: [title, { ...area, type: { kind: "int" } }] }],
  ["a new column that must be given", { ...BEFORE, columns: [...columns, aColumn("must", "int")] }],
  ["a renamed table", { ...BEFORE, name: "papers", renamed_from: "docs" }],
])("%s breaks a running service", (_what, after) => {
  expect(broken(after)).toEqual(["main/desk"]);
});

test.each<[string, ManifestTable]>([
  ["a new column that may be null", { ...BEFORE, columns: [...columns, aColumn("more", "int", { nullable: true })] }],
  ["the same columns", BEFORE],
  ["another table", aTable("others", [aColumn("n", "int")])],
])("%s breaks no service", (_what, after) => {
  expect(broken(after)).toEqual([]);
});
