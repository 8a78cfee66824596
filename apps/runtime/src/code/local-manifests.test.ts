import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { functionSchema } from "@appdb/contract/manifest";
import type { Logger } from "@appdb/engine/ports";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLocalManifests, emptyManifest, type LocalManifests } from "./local-manifests.ts";

const log = {} as Logger;
const always = () => true;
let folder = "";
let manifests: LocalManifests;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-manifests-"));
  manifests = createLocalManifests({ folder, log, runtimes: { find: () => undefined } });
});
afterEach(() => rmSync(folder, { recursive: true }));

test("keeps the functions of several changes, and the latest of each", async () => {
  manifests.keepCode("main", { functions: [fn("shout", "1"), fn("whisper", "1")], resource_pools: [] }, always);
  manifests.keepCode("main", { functions: [fn("shout", "2")], resource_pools: [] }, always);
  const { functions, tables } = await manifests.applied("r1", "main");
  expect(functions.map(({ digest, name }) => `${name} ${digest}`)).toEqual(["whisper 1", "shout 2"]);
  expect(tables).toEqual([]);
});

test("keeps functions of programs while a column calls them", async () => {
  const module = `appdb_program_${"0".repeat(32)}`;
  const ofProgram = { ...fn("summarize", "1"), id: `${module}:summarize`, module };
  const code = { functions: [fn("shout", "1"), ofProgram], resource_pools: [] };
  manifests.keepCode("main", code, always);
  expect((await manifests.applied("r1", "main")).functions).toEqual(code.functions);
  manifests.keepCode("main", { functions: [], resource_pools: [] }, () => false);
  expect((await manifests.applied("r1", "main")).functions).toEqual([code.functions[0]]);
});

test("prefers the functions of a later update of the file", async () => {
  manifests.keepCode("main", { functions: [fn("shout", "1"), fn("whisper", "1")], resource_pools: [] }, always);
  manifests.store("r1", "main", { ...emptyManifest(), functions: [fn("shout", "2")] });
  const { functions } = await manifests.applied("r1", "main");
  expect(functions.map(({ digest, name }) => `${name} ${digest}`)).toEqual(["shout 2", "whisper 1"]);
});

test("copies what a moved table needs, and keeps what its new folder has", async () => {
  manifests.store("r1", "main", { ...emptyManifest(), app_file: "app.py", functions: [fn("shout", "1")] });
  manifests.keepCode("main", { functions: [fn("whisper", "1")], resource_pools: [] }, () => true);
  manifests.keepCode("main/old", { functions: [fn("whisper", "2")], resource_pools: [] }, () => true);
  manifests.copy("r1", "main", "main/old");
  const { app_file, functions } = await manifests.applied("r1", "main/old");
  expect(app_file).toBe("app.py");
  expect(functions.map(({ digest, name }) => `${name} ${digest}`)).toEqual(["shout 1", "whisper 2"]);
});

test("refuses a target without an update and without changes", async () => {
  await expect(manifests.applied("r1", "main")).rejects.toMatchObject({ code: "schema_mismatch" });
});

function fn(name: string, digest: string) {
  return functionSchema.parse({
    id: `udfs:${name}`,
    module: "udfs",
    name,
    parameters: [],
    result: { type: { kind: "string" }, nullable: false },
    digest,
    source: { file: "udfs.py", line: 1 },
  });
}
