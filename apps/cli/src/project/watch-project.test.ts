import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleScript } from "@appdb/testkit/built-programs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ProjectWatch, watchProject } from "./watch-project.ts";

let root: string;
let watch: ProjectWatch;
const write = (path: string, text: string) => writeFileSync(join(root, path), text);
const next = () => watch.next(AbortSignal.timeout(10_000));

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "watch-"));
  mkdirSync(join(root, "lib"));
  write("app.py", "x = 1\n");
  write(".gitignore", "*.log\n");
  watch = await watchProject(root);
});
afterEach(async () => {
  await watch[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

/** Reported paths until all of these were reported; the system may report one later than another. */
async function nextOf(...paths: string[]): Promise<string[]> {
  const told = new Set<string>();
  while (!paths.every((path) => told.has(path))) for (const path of await next()) told.add(path);
  return [...told].sort();
}

test("reports files that are written, created, replaced and removed", async () => {
  write("app.py", "x = 2\n");
  write("lib/names.py", "y = 1\n");
  expect(await nextOf("app.py", "lib/names.py")).toEqual(["app.py", "lib/names.py"]);
  write("app.py.new", "x = 3\n");
  renameSync(join(root, "app.py.new"), join(root, "app.py"));
  rmSync(join(root, "lib/names.py"));
  expect(await nextOf("app.py", "lib/names.py")).toEqual(["app.py", "lib/names.py"]);
});

test("ignores files of .gitignore and files that Python writes", async () => {
  write("out.log", "text");
  mkdirSync(join(root, "__pycache__"));
  write("__pycache__/app.pyc", "bytes");
  write("notes.md", "text");
  expect(await next()).toEqual(["notes.md"]);
});

test("reports earlier changes at once and ends with the signal", async () => {
  const changed = next();
  write("app.py", "x = 2\n");
  await changed;
  write("app.py", "x = 3\n");
  expect(await next()).toEqual(["app.py"]);
  const ending = new AbortController();
  const last = watch.next(ending.signal);
  ending.abort();
  expect(await last).toEqual([]);
});

test("a file that the command itself prints into is not told: each line would be a change", async () => {
  const module = await bundleScript(join(import.meta.dirname, "watch-project.ts"));
  const script = `
    import { writeFileSync } from "node:fs";
    import { watchProject } from ${JSON.stringify(module)};
    const watch = await watchProject(${JSON.stringify(root)});
    console.log("a line");
    await new Promise((resolve) => setTimeout(resolve, 500));
    writeFileSync(${JSON.stringify(join(root, "app.py"))}, "x = 9");
    console.error(JSON.stringify(await watch.next(AbortSignal.timeout(10_000))));
    process.exit(0);
  `;
  write("dev.out", "");
  const out = openSync(join(root, "dev.out"), "a");
  const args = ["--input-type=module", "--eval", script];
  const ran = spawnSync(process.execPath, args, {
    stdio: ["ignore", out, "pipe"],
    encoding: "utf8",
    cwd: import.meta.dirname,
  });
  closeSync(out);
  expect(ran.stderr.trim()).toBe('["app.py"]');
});
