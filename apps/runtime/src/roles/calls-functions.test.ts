import {
  aColumn,
  aComputed,
  aFunction,
  aManifest,
  aRowRoute,
  aTable,
  aUuid7Key,
  udf,
} from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { callsFunctions } from "./calls-functions.ts";

test("starts Python early only for services that write tables with functions", () => {
  const source = { file: "app.py", line: 1 };
  const title = aColumn("title", "string");
  const manifest = aManifest({
    functions: [aFunction("app:slug", "string")],
    tables: [
      aTable("docs", [aUuid7Key(), title]),
      aTable("pages", [aUuid7Key(), title, aComputed("slug", udf("app:slug", "string"))]),
    ],
    services: [
      { name: "plain", prefix: "", source, routes: [aRowRoute("docs", ["title"], ["id"])] },
      { name: "slugs", prefix: "", source, routes: [aRowRoute("pages", ["title"], ["slug"])] },
    ],
  });
  expect(["plain", "slugs"].map((name) => callsFunctions(manifest, [name]))).toEqual([false, true]);
});
