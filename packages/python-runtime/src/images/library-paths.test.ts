import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findLibraryPaths } from "./library-paths.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-library-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Input with an interpreter that has the library, and an installation that has these packages. */
function setUp(...installed: string[]): Parameters<typeof findLibraryPaths>[0] {
  const make = (name: string) => {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "__init__.py"), "");
  };
  for (const name of ["app/appdb", "app/msgpack"]) make(name);
  for (const name of installed) make(`site/${name}`);
  const python = join(folder, "python");
  const facts = { executable: python, base: python, prefix: folder, paths: [join(folder, "app")] };
  const tools = { postgres_bin: undefined, uv: undefined, base_python: undefined, library: undefined };
  return {
    facts: { ...facts, version: [3, 12, 1] },
    tools: { ...tools, site_packages: join(folder, "site") },
    home: join(folder, "home"),
    env: {},
  };
}

test("adds only time zones from the installation on Windows", async () => {
  const input = setUp("tzdata", "uv");
  const [path, ...others] = await findLibraryPaths(input, "win32");
  expect(readdirSync(path ?? "")).toEqual(["tzdata"]);
  expect(others).toEqual([]);
});

test("adds no time zones on other systems or from an older installation", async () => {
  expect(await findLibraryPaths(setUp("tzdata"), "linux")).toEqual([]);
  expect(await findLibraryPaths(setUp(), "darwin")).toEqual([]);
  rmSync(join(folder, "site"), { recursive: true, force: true });
  expect(await findLibraryPaths(setUp(), "win32")).toEqual([]);
});
