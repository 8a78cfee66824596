import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MANIFEST_VERSION, manifestSchema } from "@appdb/contract/manifest";
import type { Runtime } from "@appdb/contract/runtime";
import { locateTools } from "@appdb/system/tools/locate-tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import { READS_VERSION, readManifest } from "../workers/read-manifest.ts";
import { probePython } from "./probe-python.ts";
import { type ResolveRuntimeInput, resolveRuntime } from "./resolve-runtime.ts";

const tools = locateTools({ program_url: import.meta.url, postgres_bin: undefined });
const BASE_PYTHON = tools.base_python ?? "";
const APP = `import appdb as db

Base = db.model_base()


class Docs(Base, name="docs"):
    title: db.String
    upper = title.upper()
`;

let folder: string;
let home: string;
let projectRoot: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-images-"));
  home = join(folder, "das Häuschen");
  projectRoot = join(folder, "ein Projekt");
  mkdirSync(projectRoot);
  writeFileSync(join(projectRoot, "app.py"), APP);
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function ownEnv(extra: Record<string, string> = {}): Record<string, string> {
  const { VIRTUAL_ENV: _active, ...env } = process.env;
  const own = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { ...Object.fromEntries(own), ...extra };
}

async function resolveHere(python?: string, env = ownEnv(), wishes: Wishes = {}): Promise<Runtime> {
  return await resolveRuntime({ project_root: projectRoot, python, env, home, tools, ...wishes });
}

type Wishes = Pick<ResolveRuntimeInput, "python_version" | "uv_options">;

test("reads the application with the installation's own Python by default", async () => {
  const runtime = await resolveHere();
  expect(runtime).toMatchObject({ python_source: "base library", project_root: projectRoot });
  const manifest = await readManifest({ runtime, app_file: "app.py" });
  expect(manifestSchema.parse(manifest)).toMatchObject({ app_file: "app.py", tables: [{ name: "docs" }] });
  expect(READS_VERSION).toBe(MANIFEST_VERSION);
});

test("does not start a Python that was probed before", async () => {
  const input = { python: BASE_PYTHON, cache_folder: join(folder, "pythons"), env: ownEnv() };
  await probePython(input);
  const [kept = ""] = readdirSync(input.cache_folder);
  const path = join(input.cache_folder, kept);
  const answer = JSON.parse(readFileSync(path, "utf8")) as { facts: object };
  writeFileSync(path, JSON.stringify({ ...answer, facts: { ...answer.facts, version: [3, 99, 0] } }));
  expect(await probePython(input)).toMatchObject({ version: [3, 99, 0] });
});

test("adds only the library and msgpack to an empty virtual environment", async () => {
  const venv = join(folder, "venv");
  execFileSync(tools.uv ?? "uv", ["venv", "--quiet", "--python", BASE_PYTHON, venv], { env: ownEnv() });
  const runtime = await resolveHere(undefined, ownEnv({ VIRTUAL_ENV: venv }));
  expect(runtime.python_source).toBe("virtual environment");
  expect(runtime.python.startsWith(venv)).toBe(true);
  writeFileSync(join(projectRoot, "app.py"), `import msgpack\n${APP}`);
  expect((await readManifest({ runtime, app_file: "app.py" })).tables).toHaveLength(1);
  writeFileSync(join(projectRoot, "app.py"), `import pytest\n${APP}`);
  await expect(readManifest({ runtime, app_file: "app.py" })).rejects.toMatchObject({
    code: "app_invalid",
    message: expect.stringMatching(/app\.py:1: .*pytest/),
  });
});

test("builds requirements.txt once and again only when it changes", async () => {
  writeFileSync(join(projectRoot, "requirements.txt"), "-r more.txt\n");
  writeFileSync(join(projectRoot, "more.txt"), "iniconfig==2.3.1\n");
  writeFileSync(join(projectRoot, "app.py"), `import iniconfig\n${APP}`);
  const [runtime, twin] = await Promise.all([resolveHere(), resolveHere()]);
  expect(runtime.python_source).toBe("requirements.txt");
  expect(twin.python).toBe(runtime.python);
  expect(readdirSync(join(home, "images"))).toHaveLength(1);
  expect((await readManifest({ runtime, app_file: "app.py" })).tables).toHaveLength(1);
  expect((await resolveHere()).python).toBe(runtime.python);
  writeFileSync(join(projectRoot, "more.txt"), "# nothing\n");
  expect((await resolveHere()).python).not.toBe(runtime.python);
});

test("prefers uv.lock to requirements.txt", async () => {
  writeFileSync(
    join(projectRoot, "pyproject.toml"),
    '[project]\nname = "thing"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["iniconfig"]\n',
  );
  execFileSync(tools.uv ?? "uv", ["lock", "--quiet", "--directory", projectRoot], { env: ownEnv() });
  writeFileSync(join(projectRoot, "requirements.txt"), "pluggy\n");
  const runtime = await resolveHere();
  expect(runtime.python_source).toBe("uv.lock");
  writeFileSync(join(projectRoot, "app.py"), `import iniconfig\n${APP}`);
  expect((await readManifest({ runtime, app_file: "app.py" })).tables).toHaveLength(1);
});

test("chooses Python by --python, the project's version, the installation and PATH", async () => {
  const { version } = await probePython({ python: BASE_PYTHON, cache_folder: join(home, "pythons"), env: ownEnv() });
  const own = version.join(".");
  const wanting = (pythonVersion: string, env = ownEnv()) =>
    resolveHere(undefined, env, { python_version: pythonVersion });
  expect((await wanting(own)).python_source).toBe("base library");
  expect((await wanting(version.slice(0, 2).join("."))).python).toBe((await wanting(own)).python);
  await expect(wanting("3.98")).rejects.toMatchObject({
    code: "python_not_found",
    message: "No python3.98 on the PATH.",
  });
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const answer = '{"version":[3,98,1],"executable":"","base":"","prefix":"","paths":[]}';
  writeFileSync(join(bin, "python3.98"), `#!/bin/sh\necho '${answer}'\n`, { mode: 0o755 });
  const env = ownEnv({ PATH: `${bin}:${process.env.PATH}` });
  await expect(wanting("3.98.2", env)).rejects.toMatchObject({
    code: "python_not_found",
    message: expect.stringMatching(/requires Python 3\.98\.2; .* has 3\.98\.1\.$/),
  });
  expect((await resolveHere(BASE_PYTHON, env, { python_version: "3.98" })).python_source).toBe("--python");
});

test("refuses an active environment whose version differs from the project's", async () => {
  const venv = join(folder, "venv");
  execFileSync(tools.uv ?? "uv", ["venv", "--quiet", "--python", BASE_PYTHON, venv], { env: ownEnv() });
  await expect(resolveHere(undefined, ownEnv({ VIRTUAL_ENV: venv }), { python_version: "3.98" })).rejects.toMatchObject(
    {
      code: "python_not_found",
      message: expect.stringContaining(`requires Python 3.98; the active environment ${venv} has 3.`),
    },
  );
});

test("rebuilds when the project's Python or uv options change", async () => {
  writeFileSync(
    join(projectRoot, "pyproject.toml"),
    '[project]\nname = "thing"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = []\n' +
      '[project.optional-dependencies]\nmore = ["iniconfig"]\n',
  );
  execFileSync(tools.uv ?? "uv", ["lock", "--quiet", "--directory", projectRoot], { env: ownEnv() });
  writeFileSync(join(projectRoot, "app.py"), `import iniconfig\n${APP}`);
  const plain = await resolveHere();
  await expect(readManifest({ runtime: plain, app_file: "app.py" })).rejects.toMatchObject({ code: "app_invalid" });
  const { version } = await probePython({ python: BASE_PYTHON, cache_folder: join(home, "pythons"), env: ownEnv() });
  const wishes = { python_version: version.slice(0, 2).join("."), uv_options: "--extra 'more'" };
  const runtime = await resolveHere(undefined, ownEnv(), wishes);
  expect(runtime.python).not.toBe(plain.python);
  expect((await readManifest({ runtime, app_file: "app.py" })).tables).toHaveLength(1);
  expect((await resolveHere(undefined, ownEnv(), wishes)).python).toBe(runtime.python);
  await expect(resolveHere(undefined, ownEnv(), { uv_options: "--extra nothing" })).rejects.toMatchObject({
    code: "environment_failed",
    message: expect.stringContaining("nothing"),
  });
  rmSync(join(projectRoot, "uv.lock"));
  writeFileSync(join(projectRoot, "requirements.txt"), "iniconfig==2.3.1\n");
  await expect(resolveHere(undefined, ownEnv(), { uv_options: "--require-hashes" })).rejects.toMatchObject({
    code: "environment_failed",
    message: expect.stringContaining("--require-hashes"),
  });
});

test("names a package that does not exist and leaves no incomplete environment", async () => {
  writeFileSync(join(projectRoot, "requirements.txt"), "iniconfig==999.0.0\n");
  await expect(resolveHere()).rejects.toMatchObject({
    code: "environment_failed",
    message: expect.stringContaining("iniconfig==999.0.0"),
  });
  expect(readdirSync(join(home, "images"))).toEqual([]);
});

test("refuses a Python that is missing, invalid or too old by name", async () => {
  await expect(resolveHere(join(folder, "nowhere"))).rejects.toMatchObject({ code: "python_not_found" });
  await expect(resolveHere("no-such-python")).rejects.toMatchObject({
    code: "python_not_found",
    message: expect.stringContaining("no-such-python"),
  });
  const old = join(folder, "old");
  writeFileSync(
    old,
    '#!/bin/sh\necho \'{"version":[3,9,18],"executable":"/old","base":"/old","prefix":"/","paths":[]}\'\n',
    { mode: 0o755 },
  );
  await expect(resolveHere(old)).rejects.toMatchObject({
    code: "python_not_found",
    message: expect.stringContaining("3.9.18"),
  });
  expect(existsSync(join(home, "pythons"))).toBe(false);
});

test("reports mistakes with file, line and source text", async () => {
  const runtime = await resolveHere();
  writeFileSync(join(projectRoot, "app.py"), "import appdb as db\n\nclass (:\n");
  await expect(readManifest({ runtime, app_file: "app.py" })).rejects.toMatchObject({
    code: "app_invalid",
    message: expect.stringMatching(/^app\.py:3: [\s\S]*class \(:/),
  });
  await expect(readManifest({ runtime, app_file: "none.py" })).rejects.toMatchObject({ code: "app_file_not_found" });
});

test("blames the file when it terminates Python", async () => {
  const runtime = await resolveHere();
  writeFileSync(join(projectRoot, "app.py"), "import os\nos._exit(7)\n");
  await expect(readManifest({ runtime, app_file: "app.py" })).rejects.toMatchObject({
    code: "app_invalid",
    message: expect.stringContaining("code 7"),
  });
});

test("distinguishes a broken library from a broken application", async () => {
  const runtime = await resolveHere();
  const broken = join(folder, "broken");
  const { library = "" } = tools;
  cpSync(join(library, "appdb"), join(broken, "appdb"), { recursive: true });
  writeFileSync(join(broken, "appdb", "manifest.py"), "def run():\n    print('{\"manifest_version\": 99}')\n");
  await expect(
    readManifest({ runtime: { ...runtime, library_paths: [broken] }, app_file: "app.py" }),
  ).rejects.toMatchObject({ code: "manifest_too_new" });
  await expect(readManifest({ runtime: { ...runtime, library_paths: [] }, app_file: "app.py" })).rejects.toMatchObject({
    code: "environment_failed",
  });
});

test("reports a home that is a file and names the setting", async () => {
  writeFileSync(home, "");
  writeFileSync(join(projectRoot, "requirements.txt"), "");
  await expect(
    resolveRuntime({ project_root: projectRoot, python: undefined, env: ownEnv(), home, tools }),
  ).rejects.toMatchObject({
    code: "home_not_writable",
    message: `The home folder ${home} cannot be written: a part of the path is a file.`,
    hint: "Set SERVICE_HOME to a folder that you own.",
  });
});
