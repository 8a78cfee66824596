import type { Manifest, ManifestRoute, ManifestTable } from "@appdb/contract/manifest";
import { aColumn, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { expect, test } from "vitest";
import { findBrokenByChange, findBrokenServices } from "./broken-services.ts";

const BEFORE = aTable("docs", [aColumn("title", "string"), aColumn("area", "string", { nullable: true })]);
const OTHER = aTable("others", [aColumn("n", "int")]);
const source = { file: "app.py", line: 1 };
const title = { node: "column", name: "title", type: { kind: "string" }, nullable: false, of: "docs" };

const INSERT = {
  kind: "insert",
  method: "post",
  path: "/docs",
  table: "docs",
  inputs: ["title"],
  outputs: ["title"],
  on_error: "abort",
  handler: null,
  source,
} as const satisfies ManifestRoute;
const COMPUTE = { ...INSERT, kind: "compute" } as const satisfies ManifestRoute;
const HANDLER = {
  kind: "handler",
  method: "get",
  path: "/x",
  handler: { id: "app:x", module: "app", name: "x" },
  openapi: null,
  timeout_s: null,
  source,
} as const satisfies ManifestRoute;
const QUERY = {
  kind: "query",
  method: "get",
  path: "/titles",
  query: "app:titles",
  inputs: [],
  one_row: false,
  source,
} as const satisfies ManifestRoute;

/** The application of a service with these routes. */
function applicationOf(routes: readonly ManifestRoute[], name = "desk"): Manifest {
  const titles = { from: { table: "docs", as: "docs" }, joins: [], select: [{ name: "title", expr: title }] };
  const queries = [{ id: "app:titles", query: titles }] as unknown as Manifest["queries"];
  const services = [{ name, prefix: "", routes: [...routes], source }];
  return { ...aManifest({ tables: [BEFORE, OTHER] }), queries, services };
}

interface Circumstances {
  readonly routes?: readonly ManifestRoute[];
  readonly next?: readonly ManifestRoute[];
  readonly named?: string;
  readonly app_file?: string;
  readonly project_root?: string;
}

/** Services that an update to `after` breaks. */
function broken(after: ManifestTable, of: Circumstances = {}) {
  const { app_file: appFile = "app.py", next = of.routes ?? [INSERT], project_root: root = "/here" } = of;
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
  const manifest = { ...applicationOf(of.routes ?? [INSERT]), app_file: appFile };
  const running = [{ service: "desk", target: "main", manifest, project_root: root }];
  const application = { ...applicationOf(next, of.named), tables: [after] };
  return findBrokenServices(plan, { manifest: application, project_root: "/here" }, running);
}

const columns = BEFORE.columns;
const [titleColumn = aColumn("title", "string"), area = aColumn("area", "string")] = columns;
const RENAMED = { ...BEFORE, columns: [titleColumn, { ...area, name: "zone", renamed_from: "area" }] };
const DROPPED = { ...BEFORE, columns: [titleColumn] };
const RETITLED = { ...BEFORE, columns: [{ ...titleColumn, name: "headline", renamed_from: "title" }, area] };
const MUST = { ...BEFORE, columns: [...columns, aColumn("must", "int")] };
const PAPERS = { ...BEFORE, name: "papers", renamed_from: "docs" };

test.each<[string, ManifestTable]>([
  ["a renamed column", RENAMED],
  ["a dropped column", DROPPED],
  ["another type", { ...BEFORE, columns: [titleColumn, { ...area, type: { kind: "int" } }] }],
  ["a new column that must be given", MUST],
])("%s breaks a running service that writes", (_what, after) => {
  expect(broken(after)).toMatchObject([{ service: "main/desk", tables: ["main/docs"] }]);
  expect(broken(after, { routes: [HANDLER] })).toHaveLength(1);
});

test.each<[string, ManifestTable]>([
  ["a new column that may be null", { ...BEFORE, columns: [...columns, aColumn("more", "int", { nullable: true })] }],
  ["the same columns", BEFORE],
  ["a renamed table", PAPERS],
  ["another table", aTable("others", [aColumn("n", "string")])],
])("%s breaks no service that writes", (_what, after) => {
  expect(broken(after)).toEqual([]);
});

test.each<[string, ManifestTable, number]>([
  ["a column that it reads", RETITLED, 1],
  ["a renamed table", PAPERS, 1],
  ["a column that it does not read", DROPPED, 0],
  ["a new column that must be given", MUST, 0],
])("a query meets %s", (_what, after, count) => {
  expect(broken(after, { routes: [QUERY] })).toHaveLength(count);
});

test("a service that only computes is not broken", () => {
  expect(broken(DROPPED, { routes: [COMPUTE] })).toEqual([]);
});

test.each<[string, Circumstances, object]>([
  ["same file", {}, { app_file: "app.py", project_root: null, is_defined: true, is_destructive: false }],
  ["callers break too", { next: [] }, { is_defined: true, is_destructive: true }],
  ["no longer defined", { named: "other" }, { is_defined: false }],
  ["another file", { app_file: "b.py" }, { app_file: "b.py", project_root: null, is_defined: true }],
  ["another project", { project_root: "/there" }, { project_root: "/there", is_defined: true, is_destructive: false }],
])("tells what mends a broken service: %s", (_what, circumstances, told) => {
  expect(broken(DROPPED, circumstances)).toMatchObject([told]);
});

const OP = { name: "docs", severity: "destructive", description: "", requires_restart: false, status: null } as const;

test.each<[string, object, string]>([
  ["dropped", { op: "drop", details: {} }, "main/docs"],
  ["renamed", { op: "alter", details: { renamed_from: "docs" } }, "main/papers"],
  ["moved", { op: "alter", details: { moved_from: "docs" } }, "main/old/docs"],
])("a table that is %s breaks the services over it", (_how, op, path) => {
  const ops = [{ ...OP, ...op, target: "table", destructive: true }] as never;
  const plan = schemaPlan({ target: "main", tables: [{ path, ops } as never] });
  const running = (target: string, routes: readonly ManifestRoute[]) => ({
    service: "desk",
    target,
    manifest: applicationOf(routes),
  });
  const found = (...services: ReturnType<typeof running>[]) =>
    findBrokenByChange({ plan, manifest: null }, services).map(({ service, tables }) => [service, ...tables]);
  expect(found(running("main", [INSERT]), running("main/old", [INSERT]))).toEqual([["main/desk", "main/docs"]]);
  expect(found(running("main", [QUERY]))).toHaveLength(1);
  expect(found(running("main", [HANDLER]))).toEqual([]);
});
