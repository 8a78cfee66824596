import { aColumn, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { tableService } from "./table-routes.ts";

test("handlers get rows without the hidden columns of indexes", () => {
  const id = { ...aColumn("id", "string"), primary_key: true };
  const vector = { ...aColumn("_embedding_body", "array"), is_hidden: true };
  const table = { ...aTable("docs", [id, aColumn("body", "string"), vector]), primary_key: ["id"] };
  const routes = tableService(aManifest({ tables: [table] })).routes;
  expect(routes.map((route) => ("outputs" in route ? route.outputs : route.kind))).toEqual([
    ["id", "body"],
    ["id", "body"],
    "delete",
  ]);
});
