import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { VERSION } from "@appdb/contract/version";
import { expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";

/** Written in pieces, so that this file does not name them. */
const HOSTS = [
  ["registry.npmjs", "org"],
  ["registry.yarnpkg", "com"],
  ["pythonhosted", "org"],
  ["pypi.python", "org"],
  ["proxy.golang", "org"],
  ["deb.debian", "org"],
  ["static.crates", "io"],
].map((parts) => parts.join("."));
const INDEX = ["pypi", "org/simple"].join(".");
/** Folders of a developer's machine. Invented homes in examples are allowed, but this one is not. */
const MACHINE_PATHS = [
  "/ro" + "ot/",
  "/wor" + "k/",
  ...[ROOT, homedir()].filter((path) => path !== "/").map((path) => `${path}/`),
];

test("no tracked file names a registry host", () => {
  const found = trackedFiles().filter((file) => [...HOSTS, INDEX].some((host) => read(file).includes(host)));
  expect(found).toEqual([]);
});

test("no tracked file names a path of a developer's machine", () => {
  const found = trackedFiles().filter((file) => MACHINE_PATHS.some((path) => namesPath(read(file), path)));
  expect(found).toEqual([]);
});

test("all packages have the same version", () => {
  const manifests = trackedFiles().filter((file) => /(^|\/)package\.json$/.test(file));
  expect(manifests.length).toBeGreaterThan(4);
  const versions = manifests.map((file) => [file, JSON.parse(read(file)).version]);
  const python = /^version = "(.*)"$/m.exec(read("python/pyproject.toml"))?.[1];
  expect(Object.fromEntries([...versions, ["python/pyproject.toml", python]])).toEqual(
    Object.fromEntries([...manifests, "python/pyproject.toml"].map((file) => [file, VERSION])),
  );
});

test("no line of the log names the process twice", () => {
  const twice = trackedFiles()
    .filter((file) => /^(apps|packages)\/.*(?<!\.test)\.ts$/.test(file))
    .filter((file) => /\blog\??\.(debug|info|warn|error)\(\s*\{(?:[^}]*,)?\s*pid\s*[:,}]/.test(read(file)));
  // the logger adds `pid`, the process that writes the line
  expect(twice).toEqual([]);
});

test("packages depend on each other at this version and on exact others", () => {
  for (const file of trackedFiles().filter((name) => /(^|\/)package\.json$/.test(name))) {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(read(file));
    for (const [name, wanted] of Object.entries<string>({ ...dependencies, ...devDependencies })) {
      expect(wanted, `${name} in ${file}`).toMatch(/^\d+\.\d+\.\d+$/);
      if (name.startsWith("@appdb/")) expect(wanted, `${name} in ${file}`).toBe(VERSION);
    }
  }
});

test("the extra serve installs the tests' PostgreSQL and uv", () => {
  const serve = /^serve = \[(.*)\]$/m.exec(read("python/pyproject.toml"))?.[1] ?? "";
  const tools = read("scripts/tools-requirements.in");
  for (const name of ["embedded-postgres", "uv"]) {
    const pin = new RegExp(`^${name}==\\S+$`, "m").exec(tools)?.[0];
    expect(serve).toContain(`"${pin}"`);
  }
});

test("the lock file is complete, so that npm ci works on every system", () => {
  const lock = JSON.parse(read("package-lock.json")) as {
    packages: Record<string, { optionalDependencies?: Record<string, string>; resolved?: string }>;
  };
  const absent = Object.entries(lock.packages).flatMap(([path, entry]) =>
    Object.keys(entry.optionalDependencies ?? {}).filter(
      (name) => !(`node_modules/${name}` in lock.packages) && !(`${path}/node_modules/${name}` in lock.packages),
    ),
  );
  expect(absent).toEqual([]);
  expect(Object.values(lock.packages).filter(({ resolved }) => resolved?.includes("://"))).toEqual([]);
});

test("every relative link in the documents works", () => {
  const documents = trackedFiles().filter((file) => file.endsWith(".md"));
  const broken = documents.flatMap((file) =>
    [...read(file).matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)]
      .map(([, link]) => link ?? "")
      .filter((link) => !existsSync(join(ROOT, file, "..", link)))
      .map((link) => `${file}: ${link}`),
  );
  expect(broken).toEqual([]);
});

/** Whether the text contains the whole path: `./a/b/` does not contain `/b/`. */
function namesPath(text: string, path: string): boolean {
  return text
    .split(path)
    .slice(0, -1)
    .some((before) => !/[\w.]$/.test(before));
}

function trackedFiles(): string[] {
  const listed = execFileSync("git", ["ls-files", "-z"], { cwd: ROOT, encoding: "utf8" });
  // a deleted but uncommitted file is still listed
  return listed.split("\0").filter((file) => file !== "" && existsSync(join(ROOT, file)));
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}
