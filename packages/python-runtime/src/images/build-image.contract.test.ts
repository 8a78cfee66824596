import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readImage } from "./image-folder.ts";
import { sourceFiles } from "./testing/package-index.ts";
import { ask, below, openTestBuilds, PATH, type TestBuilds } from "./testing/test-builds.ts";

let builds: TestBuilds;

beforeEach(async () => {
  builds = await openTestBuilds();
});

afterEach(async () => {
  await builds[Symbol.asyncDispose]();
});

test("builds a working environment from a lock once", async () => {
  builds.publish({
    name: "tiny",
    files: { "tiny.py": "def main():\n    print('tiny runs')\n" },
    script: "tiny = tiny:main",
  });
  builds.publish({ name: "unused" });
  const files = await builds.locked(["tiny"], '[dependency-groups]\ndev = ["unused"]\n');
  const image = await builds.build({ files });
  expect(image).toMatchObject({ packages: [{ name: "tiny", version: "1.0" }], system: null, is_shared: false });
  expect(image.python).toMatch(/^3\.\d+\.\d+$/);
  expect(ask(image, "import tiny, sys; print(tiny.__file__.startswith(sys.prefix), sys.prefix)")).toBe(
    `True ${image.folder}/venv`,
  );
  expect(execFileSync(join(image.folder, "venv", "bin", "tiny"), { encoding: "utf8", env: { PATH } })).toBe(
    "tiny runs\n",
  );
  expect(ask(image, "import tiny; print(tiny.__cached__)")).toContain("__pycache__");
  expect(statSync(ask(image, "import tiny; print(tiny.__cached__)")).isFile()).toBe(true);
  expect(readdirSync(image.folder).sort()).toEqual(["image.json", "venv"]);
  expect(builds.left()).toHaveLength(1);
  const started = builds.tasks.length;
  expect(await builds.build({ files })).toEqual(image);
  expect(builds.tasks).toHaveLength(started);
});

test("builds once when two databases request the same environment concurrently", async () => {
  builds.publish({ name: "tiny" });
  const both = { files: builds.requirements("tiny"), builder: builds.builder() };
  const [a, b] = await Promise.all([builds.build(both), builds.build(both)]);
  expect(b).toEqual(a);
  // one task installs, one compiles
  expect(builds.tasks).toHaveLength(2);
  expect(builds.left()).toHaveLength(1);
});

test("shows a package's build only the secrets that fetch packages", async () => {
  const code = "import json, os; print('ENV ' + json.dumps(dict(os.environ)), file=sys.stderr); raise SystemExit(3)";
  const files = {
    "requirements.txt": "-e ./libs/noisy\n",
    ...below("libs/noisy", sourceFiles("noisy", "1.0", code)),
  };
  const secrets = { OPENAI_API_KEY: "sk-openai-1", UV_INDEX_A_PASSWORD: "index-word-1" };
  const failure = await builds.build({ files, secrets }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "build_failed", message: expect.stringContaining("noisy") });
  const printed = /ENV (\{.*\})/.exec(builds.lines.join("\n"))?.[1] ?? "";
  const names = Object.keys(JSON.parse(printed));
  expect(names).toContain("UV_INDEX_A_PASSWORD");
  expect(names).not.toContain("OPENAI_API_KEY");
  const own = new Set([
    ...names.filter((name) => !/^(UV|PEP517|_PYPROJECT|BUILD_BACKEND|VIRTUAL_ENV|PYTHON|GIT)/.test(name)),
  ]);
  for (const expected of ["HOME", "LANG", "NO_COLOR", "PATH", "PWD", "SERVICE_POD", "TMPDIR", "SHLVL", "OLDPWD", "_"])
    own.delete(expected);
  expect([...own]).toEqual([]);
  expect(printed).not.toContain("index-word-1");
});

test("a failed build names package, Python and platform and leaves nothing behind", async () => {
  builds.publish({
    name: "broken",
    kind: "source",
    files: sourceFiles(
      "broken",
      "1.0",
      "print('about to fail', file=sys.stderr); raise RuntimeError('no such header')",
    ),
  });
  builds.publish({ name: "tiny" });
  await expect(builds.build({ files: builds.requirements("tiny", "broken") })).rejects.toMatchObject({
    code: "build_failed",
    message: expect.stringMatching(/for Python 3\.\d+\.\d+ on linux \w+: .*broken.*no such header/s),
    hint: expect.stringContaining("cli db logs"),
  });
  expect(builds.lines.join("\n")).toContain("about to fail");
  expect(builds.left()).toEqual([]);
  await expect(builds.build({ files: builds.requirements("tiny==9") })).rejects.toMatchObject({
    code: "build_failed",
    message: expect.stringContaining("tiny==9"),
  });
  await expect(
    builds.build({ files: builds.requirements("tiny"), uv_options: "--no-such-option" }),
  ).rejects.toMatchObject({
    code: "build_failed",
    message: expect.stringContaining("--no-such-option"),
  });
  expect(builds.left()).toEqual([]);
});

test("a cancelled build leaves nothing behind", async () => {
  const started = join(builds.folder, "started");
  builds.publish({
    name: "slow",
    kind: "source",
    files: sourceFiles("slow", "1.0", `open(${JSON.stringify(started)}, 'w'); import time\nwhile True: time.sleep(1)`),
  });
  const stopping = new AbortController();
  const built = builds.build({ files: builds.requirements("slow"), signal: stopping.signal });
  await Promise.all([
    expect(built).rejects.toThrow("called off"),
    eventually(() => expect(existsSync(started)).toBe(true)).then(() => stopping.abort(new Error("called off"))),
  ]);
  expect(builds.left()).toEqual([]);
});

test("a rebuilt image replaces the previous one, which stays for running pods", async () => {
  builds.publish({ name: "tiny" });
  const files = builds.requirements("tiny");
  const image = await builds.build({ files });
  builds.publish({ name: "tiny", version: "1.1" });
  const again = await builds.build({ files, is_forced: true });
  expect(again.folder).toBe(image.folder);
  expect(again.packages).toEqual([{ name: "tiny", version: "1.1" }]);
  expect(builds.left().filter((name) => name.startsWith("former-"))).toHaveLength(1);
});

test("rebuilds an image whose description is missing or incomplete", async () => {
  builds.publish({ name: "tiny" });
  const files = builds.requirements("tiny");
  const { folder } = await builds.build({ files });
  const description = join(folder, "image.json");
  for (const harm of [() => rmSync(description), () => truncateSync(description, 20)]) {
    writeFileSync(join(folder, "left"), "");
    harm();
    expect(readImage(folder)).toBeUndefined();
    expect((await builds.build({ files })).packages).toEqual([{ name: "tiny", version: "1.0" }]);
    expect(existsSync(join(folder, "left"))).toBe(false);
    expect(builds.left()).toEqual([basename(folder)]);
  }
});

test("makes an image of the requested Python version without packages", async () => {
  const [major, minor] = (await builds.build({ files: builds.requirements() })).python.split(".");
  const image = await builds.build({ files: {}, python_version: `${major}.${minor}` });
  expect(image.packages).toEqual([]);
  expect(ask(image, "import sys; print(sys.version_info[:2])")).toBe(`(${major}, ${minor})`);
  await expect(builds.build({ files: {}, python_version: "3.98" })).rejects.toMatchObject({
    code: "build_failed",
    message: expect.stringMatching(/^No Python fits Python 3\.98: this machine has 3\.\d+/),
  });
  builds.publish({ name: "tiny" });
  const lock = await builds.locked(["tiny"]);
  const files = { ...lock, "uv.lock": (lock["uv.lock"] ?? "").replace('">=3.11"', '">=3.90,<4"') };
  await expect(builds.build({ files })).rejects.toMatchObject({
    message: expect.stringContaining("requires-python >=3.90,<4"),
  });
});

test("reuses compiled code of the previous image for identical modules", async () => {
  builds.publish({ name: "tiny" });
  builds.publish({ name: "more" });
  const first = await builds.build({ files: await builds.locked(["tiny"]) });
  const second = await builds.build({ files: await builds.locked(["tiny", "more"]) });
  const cached = (image: { folder: string }, name: string) =>
    statSync(ask(image, `import ${name}; print(${name}.__cached__)`)).ino;
  expect(cached(second, "tiny")).toBe(cached(first, "tiny"));
  expect(cached(second, "more")).not.toBe(cached(first, "tiny"));
});

test("refuses builds early for a wrong lock, missing Python or system packages", async () => {
  builds.publish({ name: "tiny" });
  const builder = builds.builder();
  const lock = await builds.locked(["tiny"]);
  const none = { source: null, files: [], python_version: null, system_packages: [], uv_options: null };
  const locked = (pyproject = lock["pyproject.toml"] ?? "") => ({
    ...none,
    source: "uv.lock" as const,
    files: [
      { path: "pyproject.toml", text: pyproject },
      { path: "uv.lock", text: lock["uv.lock"] ?? "" },
    ],
  });
  await builder.check(locked(), "org-1");
  await expect(
    builder.check(locked(lock["pyproject.toml"]?.replace('"tiny"', '"tiny", "more"')), "org-1"),
  ).rejects.toMatchObject({
    code: "environment_refused",
    message: "uv.lock is not the lock of this pyproject.toml: pyproject.toml requires more, which it does not contain.",
    hint: "Lock it again: uv lock",
  });
  await expect(builder.check({ ...none, system_packages: ["ffmpeg"] }, "org-1")).rejects.toMatchObject({
    code: "system_packages_refused",
  });
  const nobody = { code: "build_failed", message: expect.stringContaining("No Python fits Python 3.98") };
  await expect(builder.check({ ...none, python_version: "3.98" }, "org-1")).rejects.toMatchObject(nobody);
  const downloading = builds.builder({ interpreters: builds.interpreters({ may_download: true }) });
  await expect(downloading.check({ ...none, python_version: "3.98" }, "org-1")).rejects.toMatchObject(nobody);
  await downloading.check({ ...none, python_version: "3.13" }, "org-1");
});
