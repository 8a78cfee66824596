import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ManifestFunction, manifestSchema } from "@appdb/contract/manifest";
import { afterAll, expect, test } from "vitest";
import { emptyManifest } from "../code/local-manifests.ts";
import { hostedCode, localCode, refuseCallersCode } from "./query-code.ts";

const PROGRAM = { pid: 1, modules: ["YQ=="] };
const RUNTIME = { python: "python", python_source: "test", project_root: "/project", library_paths: [], env: {} };
const NONE = { functions: [], resource_pools: [], runtime: null, program: null, digests: null };

test("a hosted database refuses functions of a program", () => {
  expect(() => refuseCallersCode({ ...NONE, program: PROGRAM })).toThrow(
    expect.objectContaining({ code: "function_missing", hint: expect.stringContaining("POST .../programs") }),
  );
});

test("a hosted database refuses a runtime", () => {
  expect(() => refuseCallersCode({ ...NONE, runtime: RUNTIME })).toThrow(
    expect.objectContaining({ code: "invalid_request" }),
  );
  expect(() => refuseCallersCode(NONE)).not.toThrow();
});

test("a local query stores the functions of its program first", async () => {
  const stored: unknown[] = [];
  const findCode = localCode({ save: () => "r1" }, { store: (_owner, modules) => void stored.push(modules) });
  const PROGRAM = { pid: process.pid, modules: ["YQ=="] };
  const query = {} as Parameters<typeof findCode>[1];
  expect(await findCode({ ...NONE, runtime: RUNTIME, program: PROGRAM }, query, [])).toMatchObject({
    runtime_id: "r1",
  });
  await findCode({ ...NONE, runtime: RUNTIME }, query, []);
  expect(stored).toEqual([["YQ=="]]);
});

const root = mkdtempSync(join(tmpdir(), "appdb-tree-"));
afterAll(() => rmSync(root, { recursive: true }));

const MODULE = `appdb_program_${"a".repeat(32)}`;
const definition = (module: string): ManifestFunction =>
  manifestSchema.shape.functions.element.parse({
    id: `${module}:summarize`,
    module,
    name: "summarize",
    parameters: [],
    result: { type: { kind: "string" }, nullable: false },
    digest: "",
    source: { file: "app.py", line: 1 },
  });
const [OF_PROGRAM, OF_PROJECT] = [definition(MODULE), definition("functions")];

/** A hosted database with a table of this runtime, whose last update also called the program's function. */
function hosted(runtimeId: string | null, isStored: boolean, digests: Record<string, string> | null = null) {
  const findCode = hostedCode({
    sql: { query: async () => ({ rows: [[runtimeId]] }) } as never,
    manifests: { applied: async () => ({ ...emptyManifest(), functions: [OF_PROJECT, OF_PROGRAM] }) },
    programs: {
      returned: async () => undefined,
      find: (id) => (isStored && id === OF_PROGRAM.id ? { definition: OF_PROGRAM, files: null } : undefined),
    },
    runtimes: {
      of: (tree) => ({ ...RUNTIME, project_root: tree ?? "none" }),
      save: (of) => `${of.project_root}/`,
      treeOf: () => root,
    },
  });
  const query = { tables: [{ table: { id: 1, name: "docs" } }] } as unknown as Parameters<typeof findCode>[1];
  // a request may claim anything about functions
  const code = { ...NONE, functions: [{ ...OF_PROGRAM, digest: "lie", name: "load" }], digests };
  return (...called: ManifestFunction[]) =>
    findCode(
      code,
      query,
      called.map(({ id }) => id),
    );
}

test("a hosted query runs a program's function as the program described it", async () => {
  expect(await hosted(null, true)(OF_PROGRAM)).toEqual({ functions: [OF_PROGRAM], runtime_id: "none/" });
});

test("a hosted query mixes functions of a program and of the project", async () => {
  expect(await hosted("tree/app.py", true)(OF_PROJECT, OF_PROGRAM)).toEqual({
    functions: [OF_PROJECT, OF_PROGRAM],
    runtime_id: "tree/app.py",
  });
});

test("a hosted query refuses code that differs from the caller's files", async () => {
  writeFileSync(join(root, "functions.py"), "A = 1");
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");
  const ask = (path: string, text: string) => hosted("tree/app.py", true, { [path]: digest(text) })(OF_PROJECT);
  expect(await ask("functions.py", "A = 1")).toMatchObject({ runtime_id: "tree/app.py" });
  const code = "project_files_differ";
  await expect(ask("functions.py", "A = 2")).rejects.toMatchObject({ code, meta: { files: ["functions.py"] } });
  await expect(ask("other.py", "A = 1")).rejects.toMatchObject({ code });
  await expect(ask("../outside.py", "A = 1")).rejects.toMatchObject({ code });
});

test("a hosted query names no function that no living program has stored", async () => {
  await expect(hosted("tree/app.py", false)(OF_PROGRAM)).rejects.toMatchObject({
    code: "function_missing",
    message: "The query calls summarize. It was defined in a notebook or program that has ended.",
    hint: expect.stringContaining("functions.py"),
  });
  await expect(hosted("tree/app.py", true)(definition("os"))).rejects.toMatchObject({ code: "function_missing" });
});
