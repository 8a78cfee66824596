import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MAX_DECLARED } from "@appdb/contract/manifest";
import { aFunction, aManifest } from "@appdb/testkit/manifest-builder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HostedChangeCode } from "./hosted-change-code.ts";
import { TreeManifests } from "./tree-manifests.ts";

const always = () => true;
let folder = "";
let file = "";
let code: HostedChangeCode;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-change-code-"));
  file = join(folder, "change-code.json");
  code = new HostedChangeCode(file);
});
afterEach(() => rmSync(folder, { recursive: true }));

test("keeps only the resource pools of functions that columns call", () => {
  const ask = { ...aFunction("functions:ask", "string"), resource_pool: "openai" };
  code.keep({ functions: [ask], resource_pools: [pool("openai"), pool("unused")] }, always);
  for (let change = 0; change < 101; change += 1) {
    const pools = Array.from({ length: 100 }, (_, at) => pool(`pool ${change} ${at}`));
    code.keep({ functions: [], resource_pools: pools }, always);
  }
  expect(code.all()).toEqual({ functions: [ask], resource_pools: [pool("openai")] });
  code.keep({ functions: [], resource_pools: [] }, () => false);
  expect(code.all()).toEqual({ functions: [], resource_pools: [] });
});

test("reads a file with more pools than a manifest may have", () => {
  const pools = Array.from({ length: MAX_DECLARED + 1 }, (_, at) => pool(`pool ${at}`));
  writeFileSync(file, JSON.stringify({ functions: [], resource_pools: pools }));
  expect(code.all()).toEqual({ functions: [], resource_pools: [] });
});

test("refuses a change with more functions than can be kept", () => {
  const functions = Array.from({ length: MAX_DECLARED }, (_, at) => aFunction(`functions:f${at}`, "string"));
  code.keep({ functions, resource_pools: [] }, always);
  code.admit({ functions: [aFunction("functions:f0", "string")] });
  expect(() => code.admit({ functions: [aFunction("functions:more", "string")] })).toThrow(/10001 functions/);
});

test("a change does not describe a function of an applied file again", async () => {
  const declared = aFunction("functions:summarize", "string");
  const runtimes = {} as never;
  const manifests = new TreeManifests({ folder, runtimes, changes: code, log: createSilentLog() });
  manifests.store("tree/app.py", aManifest({ functions: [declared] }));
  const other = aFunction("functions:other", "string");
  code.keep({ functions: [{ ...declared, digest: "1".repeat(64) }, other], resource_pools: [] }, always);
  const { functions } = await manifests.applied("tree/app.py");
  expect(functions.map(({ digest, id }) => [id, digest])).toEqual([
    ["functions:other", other.digest],
    ["functions:summarize", declared.digest],
  ]);
});

function pool(name: string) {
  return { name, max_concurrent: 1, per_minute: null, retries: 3 };
}
