import type { Manifest, ManifestRoute, ManifestRowRoute, ManifestUpdateRoute } from "@appdb/contract/manifest";
import { VERSION } from "@appdb/contract/version";
import { expect, test } from "vitest";
import { compareRoutes } from "./compare-routes.ts";

const source = { file: "app.py", line: 1 };

function makeRoute(changes: Partial<ManifestRowRoute> = {}): ManifestRoute {
  return {
    kind: "insert",
    method: "post",
    path: "/docs",
    table: "docs",
    inputs: ["title"],
    outputs: ["id"],
    on_error: "abort",
    handler: null,
    source,
    ...changes,
  };
}

const makeUpdate = (changes: Partial<ManifestUpdateRoute> = {}): ManifestRoute => ({
  kind: "update",
  method: "post",
  path: "/docs",
  table: "docs",
  key: ["title"],
  inputs: ["note"],
  outputs: ["title"],
  on_error: "abort",
  handler: null,
  source,
  ...changes,
});

const makeDelete = (matchColumns: string[], table = "docs"): ManifestRoute => ({
  kind: "delete",
  method: "post",
  path: "/docs",
  table,
  match_columns: matchColumns,
  source,
});

const makeAnswerer = (name: string, response: Record<string, unknown> | null = null) => ({
  id: `app:${name}`,
  module: "app",
  name,
  parameters: ["title"],
  response,
});

function makeManifest(routes: ManifestRoute[], changes: Partial<Manifest> = {}): Manifest {
  const column = (name: string, nullable: boolean) => ({
    name,
    type: { kind: "string" as const },
    nullable,
    primary_key: false,
    computed: null,
    comment: null,
    custom_metadata: null,
    renamed_from: null,
    source,
  });
  const literal = { node: "literal" as const, value: "new", type: { kind: "string" as const }, nullable: false };
  const state = { ...column("state", false), default: { text: "'new'", expr: literal } };
  return {
    manifest_version: 1,
    library_version: VERSION,
    warnings: [],
    python_version: "3.11.7",
    app_file: "app.py",
    tables: [
      {
        name: "docs",
        model: "Docs",
        comment: null,
        custom_metadata: null,
        columns: [column("title", false), column("note", true), column("author", false), state],
        primary_key: [],
        indexes: [],
        renamed_from: null,
        has_default_idxs: true,
        source,
      },
    ],
    functions: [],
    queries: [],
    resource_pools: [],
    services: [{ name: "ingest", prefix: "", routes, source }],
    modules: [{ path: "app.py", sha256: "1" }],
    ...changes,
  };
}

test.each([
  ["an added route", [makeRoute(), makeRoute({ path: "/more" })], "additive"],
  ["a removed route", [], "destructive"],
  ["an added output", [makeRoute({ outputs: ["id", "title"] })], "additive"],
  ["cells that may fail", [makeRoute({ on_error: "ignore" })], "additive"],
  ["a removed output", [makeRoute({ outputs: [] })], "destructive"],
  ["an added optional input", [makeRoute({ inputs: ["title", "note"] })], "additive"],
  ["an added input with a default", [makeRoute({ inputs: ["title", "state"] })], "additive"],
  ["an added required input", [makeRoute({ inputs: ["title", "author"] })], "destructive"],
  ["a removed input", [makeRoute({ inputs: [] })], "destructive"],
  ["another kind", [makeRoute({ kind: "compute" })], "destructive"],
  ["another table", [makeRoute({ table: "other" })], "destructive"],
])("describes %s as clients see it", (_what, routes, severity) => {
  expect(compareRoutes(makeManifest([makeRoute()]), makeManifest(routes), "ingest")).toMatchObject([{ severity }]);
});

test.each([
  ["an added input of an update", makeUpdate(), makeUpdate({ inputs: ["note", "author"] }), "additive"],
  ["an upload of an update", makeUpdate(), makeUpdate({ uploads: ["note"] }), "additive"],
  ["no upload of an update", makeUpdate({ uploads: ["note"] }), makeUpdate(), "destructive"],
  ["a removed input of an update", makeUpdate(), makeUpdate({ inputs: ["author"] }), "destructive"],
  ["another key of an update", makeUpdate(), makeUpdate({ key: ["title", "author"] }), "destructive"],
  ["an update in the place of an insert", makeRoute(), makeUpdate(), "destructive"],
  ["an added match column", makeDelete(["note"]), makeDelete(["note", "author"]), "destructive"],
  ["another table to delete from", makeDelete(["note"]), makeDelete(["note"], "other"), "destructive"],
  ["an answer by a function", makeRoute(), makeRoute({ handler: makeAnswerer("f") }), "destructive"],
  [
    "a function of another name",
    makeRoute({ handler: makeAnswerer("f") }),
    makeRoute({ handler: makeAnswerer("g") }),
    "additive",
  ],
  [
    "a function that returns something else",
    makeUpdate({ handler: makeAnswerer("f") }),
    makeUpdate({ handler: makeAnswerer("f", { type: "string" }) }),
    "destructive",
  ],
])("describes %s", (_what, before, after, severity) => {
  expect(compareRoutes(makeManifest([before]), makeManifest([after]), "ingest")).toMatchObject([{ severity }]);
});

test("routes are described with the prefix of their router", () => {
  const behind = (prefix: string, routes: ManifestRoute[]) =>
    makeManifest(routes, { services: [{ name: "ingest", prefix, routes, source }] });
  const told = (before: Manifest, after: Manifest) =>
    compareRoutes(before, after, "ingest").map(({ description, details, name }) => [description, name, details.path]);
  const before = behind("/v1", [makeRoute(), makeRoute({ path: "/gone" })]);
  expect(told(before, behind("/v1", [makeRoute({ outputs: [] }), makeRoute({ path: "/more" })]))).toEqual([
    [expect.stringMatching(/^route 'POST \/v1\/docs' will be replaced: /), "POST /v1/docs", "/v1/docs"],
    ["route 'POST /v1/more' will be added", "POST /v1/more", "/v1/more"],
    ["route 'POST /v1/gone' will be removed", "POST /v1/gone", "/v1/gone"],
  ]);
  expect(told(before, behind("/v2", [makeRoute(), makeRoute({ path: "/gone" })]))).toEqual([
    ["the prefix '/v1' becomes '/v2'", "ingest", undefined],
  ]);
});

test("a delete with the same columns is not a change", () => {
  const manifest = makeManifest([makeDelete(["note"])]);
  expect(compareRoutes(manifest, manifest, "ingest")).toEqual([]);
});

test("another export is described by its table, never by its URL", () => {
  const to = (url: string, table: string) => ({
    export_sql: { db_connect: { url }, table, db_schema: null, method: "insert" as const },
  });
  const before = makeManifest([makeRoute(to("postgresql://u:hunter2@a/db", "copies"))]);
  const after = makeManifest([makeRoute(to("postgresql://u:hunter3@a/db", "copies"))]);
  const ops = compareRoutes(before, after, "ingest");
  expect(ops).toMatchObject([
    { severity: "additive", description: expect.stringContaining("exports its rows to copies") },
  ]);
  expect(JSON.stringify(ops)).not.toContain("hunter");
  expect(compareRoutes(after, makeManifest([makeRoute()]), "ingest")).toMatchObject([
    { description: expect.stringContaining("no longer exports its rows") },
  ]);
});
