import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aManifest } from "@appdb/testkit/manifest-builder";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchFiles } from "./changed-files.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "appdb-files-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("reports a worker with changed files once per change", () => {
  const write = (text: string) => writeFileSync(join(root, "app.py"), text);
  const sha256 = createHash("sha256").update("x = 1").digest("hex");
  const runtime = { python: "", python_source: "", project_root: root, library_paths: [], env: {} };
  const told: unknown[] = [];
  const ignore = () => undefined;
  const log = { debug: ignore, info: ignore, error: ignore, warn: (fields: object) => told.push(fields) };
  const look = watchFiles({ manifest: aManifest({ modules: [{ path: "app.py", sha256 }] }), runtime }, log);
  write("x = 1");
  look();
  expect(told).toEqual([]);
  write("x = 2");
  look();
  look();
  expect(told).toEqual([{ files: "app.py", next: "cli service update" }]);
  rmSync(join(root, "app.py"));
  write("x = 1");
  look();
  write("x = 3");
  look();
  expect(told).toHaveLength(2);
});
