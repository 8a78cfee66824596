import { join } from "node:path";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { bundleScript } from "@appdb/testkit/built-programs";
import { expect, test, vi } from "vitest";
import { createTenantDocuments, DOCUMENT_LIMITS } from "./tenant-documents.ts";

// large documents are slow on a busy machine
vi.setConfig({ testTimeout: 180_000 });

const worker = { entry: await bundleScript(join(import.meta.dirname, "documents-worker.ts")), execArgv: [] };
/** Only tests of the time are refused by it: a busy machine takes long for a large document. */
const PATIENT = { ...DOCUMENT_LIMITS, timeout_ms: 50_000 };
const openDocuments = (limits = PATIENT) => createTenantDocuments(limits, worker);
const documents = openDocuments();
const INDEX = { url: "https://packages.example.com/simple", file_origins: [] };

const locked = (lock: string, pyproject = '[project]\nname = "x"\n'): EnvironmentDocument => ({
  source: "uv.lock",
  python_version: null,
  system_packages: [],
  uv_options: null,
  files: [
    { path: "pyproject.toml", text: pyproject },
    { path: "uv.lock", text: lock },
  ],
});
const required = (text: string): EnvironmentDocument => ({
  ...locked(""),
  source: "requirements.txt",
  files: [{ path: "requirements.txt", text }],
});
const dependencies = (count: number, of = (at: number) => `"p${at}>=1"`) =>
  `[project]\nname = "x"\ndependencies = [${Array.from({ length: count }, (_, at) => of(at)).join(", ")}]\n`;
const lockOf = (count: number) =>
  `[[package]]\nname = "x"\nversion = "1"\nsource = { virtual = "." }\n\n[package.metadata]\nrequires-dist = [\n${Array.from({ length: count }, (_, at) => `    { name = "p${at}", specifier = ">=1" },\n`).join("")}]\n`;

test("accepts a large lock that matches its project", async () => {
  await expect(documents.check(locked(lockOf(4_000), dependencies(4_000)), "acme")).resolves.toBeUndefined();
});

test("refuses a large lock of another project like a small one", async () => {
  await expect(documents.check(locked(lockOf(4_000), dependencies(4_001)), "acme")).rejects.toMatchObject({
    code: "environment_refused",
    message: expect.stringContaining("requires p4000, which it does not contain"),
    hint: "Lock it again: uv lock",
  });
});

test.each<[string, EnvironmentDocument, string]>([
  ["20,000 dependencies", locked(lockOf(20_000), dependencies(20_000)), "has 20000 dependencies; the maximum is 5000"],
  [
    "a dependency of 1 MB",
    locked(
      lockOf(1),
      dependencies(1, () => `"a${"[".repeat(1_000_000)}"`),
    ),
    "has 1000001 characters; the maximum is 1000",
  ],
  ["20,000 requirements", required("p==1\n".repeat(20_000)), "have more than 5000 lines"],
  ["a requirement of 1 MB", required(`a${" x".repeat(500_000)}`), "has 1000001 characters; the maximum is 1000"],
  ["a requirement of 1,000,000 lines", required(`a\\\n${"b\\\n".repeat(1_000_000)}`), "the maximum is 1000"],
])("refuses %s and reports its size", async (_what, document, said) => {
  await expect(documents.check(document, "acme")).rejects.toMatchObject({
    code: "environment_refused",
    message: expect.stringContaining(said),
  });
});

test("treats a registry of 8 MB of slashes as another index", async () => {
  const lock = `version = 1\n[[package]]\nname = "a"\nversion = "1"\nsource = { registry = "${"/".repeat(7_900_000)}x" }\n`;
  await expect(documents.isShareable(locked(lock), INDEX, "acme")).resolves.toBe(false);
});

test.each<[string, string]>([
  ["deeply nested arrays", `a = ${"[".repeat(2_000_000)}`],
  ["a key of many parts", `${"a.".repeat(2_000_000)}a = 1`],
  ["many tables", "[a]\n".repeat(1_000_000)],
])("finishes a document of %s", async (_what, text) => {
  const bounded = openDocuments({ ...DOCUMENT_LIMITS, timeout_ms: 2_000 });
  await bounded.check(locked(lockOf(1), `${text}\n`), "acme").catch((error: unknown) => {
    expect(error).toMatchObject({ code: "environment_refused" });
  });
});

test.each([
  ["time", { ...DOCUMENT_LIMITS, timeout_ms: 1 }, "takes more than 0.001 seconds"],
  ["memory", { ...PATIENT, memory_mb: 8 }, "takes more than 8 MB of memory"],
])("refuses a document that takes too much %s and reads the next one", async (_what, limits, said) => {
  const bounded = openDocuments({ ...limits, at_once: 1 });
  const large = locked(lockOf(100_000), dependencies(100_000));
  const refusals = await Promise.allSettled([bounded.check(large, "acme"), bounded.check(large, "acme")]);
  for (const refusal of refusals) {
    expect(refusal).toMatchObject({
      status: "rejected",
      reason: { code: "environment_refused", message: expect.stringContaining(said) },
    });
  }
  await expect(bounded.check(locked(lockOf(1), dependencies(1)), "acme")).resolves.toBeUndefined();
});

test("queues documents of one organization and bounds the queue", async () => {
  const bounded = openDocuments({ ...PATIENT, max_waiting: 2 });
  const large = locked(lockOf(4_000), dependencies(4_000));
  const many = [1, 2, 3].map(() => bounded.check(large, "acme"));
  await expect(bounded.check(large, "acme")).rejects.toMatchObject({ code: "rate_limited", meta: { most_waiting: 2 } });
  const order: string[] = [];
  const last = many.at(-1)?.then(() => order.push("acme"));
  await bounded.check(large, "other").then(() => order.push("other"));
  await last;
  expect(order).toEqual(["other", "acme"]);
});

const manifestOf = (more: string) => ({
  app_file: "app.py",
  python: "/usr/bin/python3",
  written: {
    stderr: "",
    ending: undefined,
    stdout: `{"manifest_version":1,"library_version":"1","python_version":"3.12.1","app_file":"app.py","functions":[],"services":[],${more}}`,
  },
});

test("reads a large manifest in a child process with the same result", async () => {
  const modules = (count: number) =>
    `"tables":[],"modules":[${Array.from({ length: count }, (_, at) => `{"path":"m${at}.py","sha256":"a"}`).join()}]`;
  await expect(documents.readManifest(manifestOf(modules(1)), "acme")).resolves.toMatchObject({
    modules: { length: 1 },
  });
  await expect(documents.readManifest(manifestOf(modules(10_000)), "acme")).resolves.toMatchObject({
    modules: { length: 10_000 },
  });
});

test("refuses an invalid manifest with the location", async () => {
  await expect(documents.readManifest(manifestOf('"tables":[0],"modules":[]'), "acme")).rejects.toMatchObject({
    code: "manifest_invalid",
    message: expect.stringContaining("/tables/0: "),
  });
});

test("refuses a name that no column can have as a mistake of the application", async () => {
  const source = { file: "app.py", line: 7 };
  const column = { nullable: false, primary_key: false, computed: null, comment: null, custom_metadata: null, source };
  const columns = [{ ...column, name: "docs.title", type: { kind: "string" } }];
  const table = { name: "docs", model: "Docs", comment: null, custom_metadata: null, columns, source };
  const tables = JSON.stringify([{ ...table, primary_key: [], indexes: [], has_default_idxs: false }]);
  await expect(documents.readManifest(manifestOf(`"tables":${tables},"modules":[]`), "acme")).rejects.toMatchObject({
    code: "app_invalid",
    message: expect.stringContaining("app.py:7: 'docs.title' cannot be the name of a column: "),
    hint: "Give it another name: a letter (a-z) first, then letters, digits and '_'.",
  });
});

test("refuses a manifest of 7,000,000 wrong modules while the server keeps working", async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 50);
  const bounded = openDocuments({ ...DOCUMENT_LIMITS, timeout_ms: 3_000 });
  const wrong = manifestOf(`"tables":[],"modules":[${"0,".repeat(7_000_000)}0]`);
  await expect(bounded.readManifest(wrong, "acme")).rejects.toMatchObject({
    code: "app_invalid",
    message: expect.stringContaining("its manifest takes more than"),
  });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(10);
});

test("refuses a manifest that exceeds the memory limit and keeps the server working", async () => {
  const bounded = openDocuments({ ...PATIENT, memory_mb: 48 });
  const wide = manifestOf(`"tables":[],"modules":[${"0,".repeat(7_900_000)}0]`);
  await expect(bounded.readManifest(wide, "acme")).rejects.toMatchObject({
    code: "app_invalid",
    message: expect.stringContaining("its manifest takes more than 48 MB of memory"),
  });
});

test("refuses a manifest with too many tables or a path of 2,001 characters", async () => {
  const many = manifestOf(`"modules":[],"tables":[${Array(10_001).fill("0").join()}]`);
  await expect(documents.readManifest(many, "acme")).rejects.toMatchObject({
    code: "manifest_invalid",
    message: expect.stringContaining("/tables: Too big"),
  });
  const service = { name: "s", prefix: `/${"{".repeat(2_000)}` };
  const long = manifestOf('"tables":[],"modules":[]');
  const stdout = long.written.stdout.replace('"services":[]', `"services":[${JSON.stringify(service)}]`);
  await expect(documents.readManifest({ ...long, written: { ...long.written, stdout } }, "acme")).rejects.toThrow(
    "/services/0",
  );
});
