import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Application } from "../context.ts";
import { locateProgram } from "../program.ts";
import { SERVICE_TOML } from "./init-text.ts";
import { readApplication } from "./read-application.ts";

const APP = `import appdb as db

Base = db.model_base()


class Docs(Base, name="docs"):
    title: db.String
`;

let folder: string;
let notes: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-read-"));
  writeFileSync(join(folder, "app.py"), APP);
  notes = [];
});

afterEach(() => rmSync(folder, { recursive: true }));

async function read(text: string, slowMs?: number): Promise<Application> {
  writeFileSync(join(folder, "service.toml"), text);
  const config = { home: join(folder, "home"), application_env: { PATH: process.env.PATH ?? "" } };
  const out = { note: (line: string) => notes.push(line) };
  const program = locateProgram(import.meta.url, process);
  const signal = new AbortController().signal;
  return await readApplication(
    { config, cwd: folder, out, program, signal, ...(slowMs === undefined ? {} : { slow_ms: slowMs }) },
    { file: "app.py", python: undefined },
  );
}

test("uses the local database's workers and reports hosted-only settings", async () => {
  const { manifest, runtime } = await read(
    "[[service.database]]\nworkers = 3\nmemory_mb = 512\nvars = { bucket = 'x' }\nexclude = ['notes/']\n",
  );
  expect(manifest.tables).toHaveLength(1);
  expect(runtime.workers).toBe(3);
  expect(notes).toEqual([
    "warning: service.toml: vars, memory_mb of the local database have no effect; only hosted databases have them.",
  ]);
});

test("requires the Python that the local database requests", async () => {
  await expect(read("[[service.database]]\npython_version = '3.98'\n")).rejects.toMatchObject({
    code: "python_not_found",
    message: "No python3.98 on the PATH.",
  });
  await expect(read("[[service.database]]\npython_version = 3\n")).rejects.toMatchObject({ code: "config_invalid" });
});

test.each([
  ["as `cli init` writes it", SERVICE_TOML],
  ["of a hosted database", "[[service.database]]\nname = 'cloud://acme:main'\npython_version = '3.98'\nworkers = 9\n"],
])("ignores a request %s", async (_where, text) => {
  expect((await read(text)).runtime.workers).toBeUndefined();
  expect(notes).toEqual([]);
});

test("prints a message while a slow file is read", async () => {
  writeFileSync(join(folder, "app.py"), `import time\ntime.sleep(0.5)\n${APP}`);
  await read("", 1);
  expect(notes[0]).toContain("app.py has been running for 0.001 s and is not read yet");
});
