import type { Manifest, ManifestRoute } from "@appdb/contract/manifest";
import { codeDigests } from "@appdb/engine/jobs/code-digests";
import { aColumn, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { findOutdatedServices } from "./outdated-services.ts";

const source = { file: "app.py", line: 1 };
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
const title = { node: "column", name: "title", type: { kind: "string" }, nullable: false };
const call = {
  node: "udf",
  function: "app:short",
  args: [title],
  kwargs: {},
  type: { kind: "string" },
  nullable: false,
};

/** An application whose column `summary` calls a function with this code. */
function applicationOf(digest: string, routes: readonly ManifestRoute[] = [INSERT]): Manifest {
  const summary = { ...aColumn("summary", "string"), computed: { text: "short(title)", expr: call } };
  const functions = [{ id: "app:short", digest, uses: [], source }] as unknown as Manifest["functions"];
  const tables = [aTable("docs", [aColumn("title", "string"), summary as ReturnType<typeof aColumn>])];
  const services = [{ name: "desk", prefix: "", routes: [...routes], source }];
  return { ...aManifest({ tables }), functions, services };
}

function outdated(running: Manifest, isAsked = (_table: string, _column: string) => true) {
  const service = { service: "desk", target: "main", manifest: running, runtime: { project_root: "/here" } };
  return findOutdatedServices([service], codeDigests(applicationOf("new")), isAsked);
}

test("names services that write a column by other code", () => {
  expect(outdated(applicationOf("old"))).toEqual([
    {
      service: "main/desk",
      table: "main/docs",
      columns: ["summary"],
      functions: ["app:short"],
      app_file: "app.py",
      project_root: "/here",
    },
  ]);
});

test("is silent for the same code, other columns, and services that only read or compute", () => {
  expect(outdated(applicationOf("new"))).toEqual([]);
  expect(outdated(applicationOf("old"), (_table, column) => column !== "summary")).toEqual([]);
  expect(outdated(applicationOf("old", [{ ...INSERT, kind: "compute" }]))).toEqual([]);
});
