import type { TreeEntry } from "@appdb/contract/control/project-tree";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { expect, test } from "vitest";
import { collectEnvironment } from "./collect-environment.ts";
import { diffEnvironment, hashEnvironment, isBaseEnvironment } from "./environment.ts";

const LOCK = `version = 1
requires-python = ">=3.11"

[[package]]
name = "iniconfig"
version = "2.3.0"
source = { registry = "https://index.example.com/simple" }

[[package]]
name = "thing"
version = "1"
source = { virtual = "." }
`;
const PYPROJECT = '[project]\nname = "thing"\nversion = "1"\ndependencies = ["iniconfig"]\n';
const DIGEST = "a".repeat(64);

function entry(path: string, digest = DIGEST): TreeEntry {
  return { path, size: 1, is_executable: false, chunks: [digest], link: null };
}

async function collect(
  files: Readonly<Record<string, string>>,
  wishes: { python_version?: string; system_packages?: string[]; uv_options?: string } = {},
): Promise<EnvironmentDocument> {
  const entries = Object.keys(files).map((path) => entry(path));
  return await collectEnvironment({ entries, readText: async (path) => files[path], ...wishes });
}

test("prefers the lock to requirements.txt and builds nothing without both", async () => {
  const files = { "uv.lock": LOCK, "pyproject.toml": PYPROJECT, "requirements.txt": "pluggy\n", "app.py": "" };
  const document = await collect(files);
  expect(document).toMatchObject({ source: "uv.lock", python_version: null });
  expect(document.files.map(({ path }) => path)).toEqual(["pyproject.toml", "uv.lock"]);
  const none = await collect({ "app.py": "", "pyproject.toml": PYPROJECT });
  expect(none).toEqual({ source: null, files: [], python_version: null, system_packages: [], uv_options: null });
  expect(isBaseEnvironment(none)).toBe(true);
  expect(isBaseEnvironment(await collect({}, { python_version: "3.12" }))).toBe(false);
  expect(isBaseEnvironment(document)).toBe(false);
});

test("ignores comments, line ends, other tools and the order of packages", async () => {
  const wishes = { system_packages: ["ffmpeg", "libpq5"], uv_options: "--extra web" };
  const hash = async (lock: string, pyproject: string, wished = wishes) =>
    hashEnvironment(await collect({ "uv.lock": lock, "pyproject.toml": pyproject }, wished), "1");
  const first = await hash(LOCK, PYPROJECT);
  expect(first).toMatch(/^[0-9a-f]{64}$/);
  const same = await hash(
    LOCK.replaceAll("\n", "\r\n"),
    `# new\r\n${PYPROJECT.replaceAll("\n", "\r\n")}[tool.ruff]\r\nx = 1\r\n[tool.service]\r\napi_key = "k"\r\n`,
    { system_packages: ["libpq5", "ffmpeg", "ffmpeg"], uv_options: " --extra   web " },
  );
  expect(same).toBe(first);
  const document = await collect({ "uv.lock": LOCK, "pyproject.toml": PYPROJECT }, wishes);
  expect(hashEnvironment({ ...document, files: [...document.files].reverse() }, "1")).toBe(first);
  expect(hashEnvironment(document, "2")).not.toBe(first);
  const others = [
    await hash(LOCK.replace("2.3.0", "2.3.1"), PYPROJECT),
    await hash(LOCK, `${PYPROJECT}[tool.uv]\npackage = false\n`),
    await hash(LOCK, PYPROJECT, { ...wishes, system_packages: ["ffmpeg"] }),
    await hash(LOCK, PYPROJECT, { ...wishes, uv_options: "--extra api" }),
    hashEnvironment({ ...document, python_version: "3.12" }, "1"),
  ];
  expect(new Set([first, ...others]).size).toBe(6);
});

test("collects the files that requirements.txt names, without blank content", async () => {
  const files = {
    "requirements.txt": "# mine\n-r reqs/more.txt\n--constraint=limits.txt\n\niniconfig == 2.3.0  # pinned\n",
    "reqs/more.txt": "-c ../limits.txt\npluggy\\\n  >=1\n-e ./libs/foo\n./libs/foo[web] ; python_version > '3'\n",
    "limits.txt": "-r requirements.txt\npluggy<2\n",
    "libs/foo/pyproject.toml": "",
    "libs/foo/foo.py": "",
    "libs/foobar.py": "",
  };
  const document = await collect(files);
  expect(Object.fromEntries(document.files.map(({ path, text }) => [path, text]))).toEqual({
    "requirements.txt": "-r reqs/more.txt\n--constraint=limits.txt\niniconfig == 2.3.0\n",
    "reqs/more.txt": "-c ../limits.txt\npluggy >=1\n./libs/foo\n./libs/foo[web] ; python_version > '3'\n",
    "limits.txt": "-r requirements.txt\npluggy<2\n",
    "libs/foo/": `${DIGEST} libs/foo/foo.py\n${DIGEST} libs/foo/pyproject.toml\n`,
  });
});

test("makes project parts of a lock part of the image", async () => {
  const block = (name: string, source: string) =>
    `\n[[package]]\nname = "${name}"\nversion = "1"\nsource = ${source}\n`;
  const lock = `${LOCK}${block("a", '{ directory = "libs/a" }')}${block("b", '{ editable = "packages/b" }')}${block("c", '{ virtual = "packages/c" }')}${block("d", '{ path = "wheels/d-1-py3-none-any.whl" }')}${block("e", '{ registry = "wheels" }')}${block("f", '{ git = "https://example.com/f?rev=1#2" }')}`;
  const files = {
    "uv.lock": lock,
    "pyproject.toml": PYPROJECT,
    "libs/a/a.py": "",
    "packages/b/b.py": "",
    "packages/c/pyproject.toml": "[tool.ruff]\n",
    "wheels/d-1-py3-none-any.whl": "",
  };
  const document = await collect(files);
  expect(document.files.map(({ path }) => path)).toEqual([
    "libs/a/",
    "packages/b/",
    "packages/c/pyproject.toml",
    "pyproject.toml",
    "uv.lock",
    "wheels/",
    "wheels/d-1-py3-none-any.whl/",
  ]);
});

test("refuses what other machines cannot build, with line and hint", async () => {
  const refusals: [files: Record<string, string>, message: RegExp, uv_options?: string][] = [
    [
      { "requirements.txt": "a\n/srv/wheels/a.whl\n" },
      /^requirements\.txt:2: '\/srv\/wheels\/a\.whl' is not a path within the project\.$/,
    ],
    [{ "requirements.txt": "a @ file:///srv/a\n" }, /^requirements\.txt:1: 'file:\/\/\/srv\/a' is a file: URL/],
    [{ "requirements.txt": "-e ../other\n" }, /^requirements\.txt:1: '\.\.\/other' is outside the project/],
    [{ "requirements.txt": "a/../../b\n" }, /is outside/],
    [{ "requirements.txt": "--editable=~/thing\n" }, /'~\/thing' is not a path within/],
    [{ "requirements.txt": "C:\\wheels\\a.whl\n" }, /is not a path within/],
    [{ "requirements.txt": `${"$"}{HERE}/a.whl\n` }, /is not a path within/],
    [{ "requirements.txt": `a @ file://${"$"}{PROJECT_ROOT}/a\n` }, /is a file: URL/],
    [{ "requirements.txt": "--find-links /srv/wheels\n" }, /^requirements\.txt:1: '\/srv\/wheels' is not a path/],
    [{ "requirements.txt": "-f../wheels\n" }, /'\.\.\/wheels' is outside/],
    [
      { "requirements.txt": "-r more.txt\n", "more.txt": "-r ../../up.txt\n" },
      /^more\.txt:1: '\.\.\/\.\.\/up\.txt' is outside/,
    ],
    [{ "requirements.txt": "-r none.txt\n" }, /^requirements\.txt:1: there is no file none\.txt/],
    [
      { "requirements.txt": "./libs/none\n" },
      /^requirements\.txt:1: there is no 'libs\/none' among the project's files/,
    ],
    [{ "requirements.txt": "-e .\n" }, /^requirements\.txt:1: '\.' is the project itself/],
    [{ "requirements.txt": "-e .[web]\n" }, /is the project itself/],
    [{ "uv.lock": LOCK }, /^uv\.lock: there is no pyproject\.toml/],
    [
      { "uv.lock": LOCK.replace('virtual = "."', 'directory = "../thing"'), "pyproject.toml": PYPROJECT },
      /^uv\.lock:12: '\.\.\/thing' is outside/,
    ],
    [
      { "uv.lock": LOCK.replace("https://index.example.com/simple", "file:///srv"), "pyproject.toml": PYPROJECT },
      /^uv\.lock:7: 'file:\/\/\/srv' is a file:/,
    ],
    [{ "requirements.txt": "a\n" }, /^uv_options: the build sets --python itself/, "--python=3.9"],
    [{ "requirements.txt": "a\n" }, /^uv_options: the build sets -p/, "-p3.9"],
    [{ "requirements.txt": "a\n" }, /^uv_options: '\/srv' is not a path/, "--find-links /srv"],
    [{ ".python-version": "pypy@3.10\n" }, /^\.python-version: 'pypy@3\.10' is not a version/],
  ];
  for (const [files, message, uvOptions] of refusals) {
    await expect(collect(files, uvOptions === undefined ? {} : { uv_options: uvOptions })).rejects.toMatchObject({
      code: "environment_refused",
      message: expect.stringMatching(message),
      hint: expect.stringMatching(/./),
    });
  }
});

test("accepts names, addresses and version control", async () => {
  const text = `iniconfig[x]>=1 ; python_version >= "3.11"
a @ https://\${USER}:\${TOKEN}@example.com/a-1.whl
git+https://example.com/a.git@v1#subdirectory=b
b @ git+ssh://git@example.com/b.git
--index-url https://example.com/simple
-f https://example.com/wheels
-r https://example.com/more.txt
pluggy==1.6.0 --hash=sha256:${DIGEST}
`;
  expect((await collect({ "requirements.txt": text })).files).toHaveLength(1);
});

test("prefers the entry's Python to .python-version", async () => {
  const files = { ".python-version": "# ours\r\ncpython-3.12\r\n" };
  expect((await collect(files)).python_version).toBe("3.12");
  expect((await collect(files, { python_version: "3.13" })).python_version).toBe("3.13");
});

test("lists changed packages with versions and other changes in a diff", async () => {
  const files = { "uv.lock": LOCK, "pyproject.toml": PYPROJECT };
  const before = await collect(files, { python_version: "3.11", system_packages: ["ffmpeg"], uv_options: "--extra a" });
  const after = await collect(
    {
      "uv.lock": `${LOCK.replace("2.3.0", "2.3.1")}\n[[package]]\nname = "pluggy"\nversion = "1.6.0"\n`,
      "pyproject.toml": PYPROJECT.replace('["iniconfig"]', '["iniconfig", "pluggy"]'),
    },
    { system_packages: ["libpq5"] },
  );
  expect(diffEnvironment(before, after)).toEqual({
    parts: ["python_version", "system_packages", "uv_options", "pyproject.toml", "uv.lock"],
    lines: [
      "python_version 3.11 -> newest",
      "system_packages: - ffmpeg",
      "system_packages: + libpq5",
      'uv_options "--extra a" -> none',
      'pyproject.toml: - dependencies = ["iniconfig"]',
      'pyproject.toml: + dependencies = ["iniconfig", "pluggy"]',
      "uv.lock: ~ iniconfig 2.3.0 -> 2.3.1",
      "uv.lock: + pluggy 1.6.0",
    ],
  });
  expect(diffEnvironment(after, after)).toEqual({ parts: [], lines: [] });
});

test("lists moved sources and built-in project files in a diff", async () => {
  const before = await collect({ "requirements.txt": "./libs/a\n", "libs/a/a.py": "", "libs/a/old.py": "" });
  const entries = [entry("libs/a/a.py", "b".repeat(64)), entry("libs/a/new.py")];
  const after = await collectEnvironment({
    entries,
    readText: async (path) => (path === "requirements.txt" ? "./libs/a\npluggy\n" : undefined),
  });
  expect(diffEnvironment(before, after).lines).toEqual([
    "libs/a/: ~ libs/a/a.py",
    "libs/a/: + libs/a/new.py",
    "libs/a/: - libs/a/old.py",
    "requirements.txt: + pluggy",
  ]);
  const locked = await collect({ "uv.lock": LOCK, "pyproject.toml": PYPROJECT });
  const moved = await collect({ "uv.lock": `${LOCK}\n`, "pyproject.toml": PYPROJECT });
  expect(diffEnvironment(locked, moved).lines).toEqual(["uv.lock: changed, the versions of its packages did not"]);
  expect(diffEnvironment(before, locked).lines[0]).toBe("packages from requirements.txt -> uv.lock");
  expect(diffEnvironment(null, locked).lines.at(-1)).toBe("uv.lock: + thing 1");
});
