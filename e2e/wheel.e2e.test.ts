import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VERSION } from "@appdb/contract/version";
import { openTestProject, ROOT, type TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXAMPLES } from "./support/examples.ts";
import { saidBy, walkPrintedTour } from "./support/pages/printed-tour.ts";
import { pathWithout } from "./support/path-without.ts";

const UV = join(ROOT, ".tools", "bin", "uv");
const PYTHON = join(ROOT, ".tools", "bin", "python");

const KINDS = ["posix", "any"] as const;
/** Each wheel alone in its folder, so that `pip install dist/*.whl` finds one. */
const FOLDERS = { posix: join(ROOT, "dist"), any: join(ROOT, "dist", "any") };

describe("the wheel on a PATH without Node", () => {
  let folder: string;
  let path: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "appdb-wheel-"));
    path = pathWithout(["node", "npm", "npx", "corepack", "cli", "uv", "postgres"], join(folder, "path"));
    expect(() => execFileSync("/bin/sh", ["-c", "command -v node"], { env: { PATH: path } })).toThrow();
  });

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test("runs the quickstart with the shell script command", async () => {
    const command = install("posix", wheel("posix"), "[serve]");
    expect(readFileSync(command, "utf8").split("\n")[0]).toBe("#!/bin/sh");
    await using project = openTestProject({ command, path });
    await walkQuickstart(project);
  }, 240_000);

  test("runs the quickstart with the Python entry point command", async () => {
    const command = install("any", wheel("any"), "[serve]");
    expect(readFileSync(command, "utf8")).toContain("appdb._bundle.launcher");
    await using project = openTestProject({ command, path });
    await walkQuickstart(project);
  }, 240_000);

  test.each(KINDS)("without the extra (%s), suggests what to install", async (kind) => {
    const command = install(`bare-${kind}`, wheel(kind), "");
    await using project = openTestProject({ command, path });
    const said = await project.cli("--version");
    expect(said.code).toBe(1);
    expect(said.stderr).toContain("needs Node 20.19 or newer");
    expect(said.stderr).toContain("hint: pip install 'appdb[serve]'");
  });

  test.each(KINDS)("the wheel (%s) holds every migration of the catalog", (kind) => {
    const names = execFileSync(PYTHON, ["-m", "zipfile", "-l", wheel(kind)], { encoding: "utf8" });
    const packed = [...names.matchAll(/_bundle\/catalog-migrations\/(\S+)/g)].map(([, name]) => name);
    expect(packed).toEqual(readdirSync(join(ROOT, "packages", "engine", "migrations")).sort());
  });

  test.each(KINDS)("the wheel (%s) holds the stores of clouds, which are loaded on first use", (kind) => {
    const names = execFileSync(PYTHON, ["-m", "zipfile", "-l", wheel(kind)], { encoding: "utf8" });
    const packed = [...names.matchAll(/_bundle\/(\w+)-store\.js/g)].map(([, name]) => name);
    expect(packed.sort()).toEqual(["azure", "gcs", "s3"]);
  });

  test("without the extra, the library needs only msgpack", () => {
    const python = join(folder, "bare-any", "bin", "python");
    const listed = execFileSync(UV, ["pip", "list", "--quiet", "--format", "json", "--python", python], {
      encoding: "utf8",
    });
    expect(JSON.parse(listed).map(({ name }: { name: string }) => name)).toEqual(["appdb", "msgpack"]);
    execFileSync(python, ["-c", "import appdb, appdb.functions, appdb.serving"]);
  });

  /** Creates a virtual environment with this wheel and returns its command. */
  function install(name: string, file: string, extra: string): string {
    const environment = join(folder, name);
    execFileSync(UV, ["venv", "--quiet", "--no-project", "--python", PYTHON, environment]);
    execFileSync(UV, [
      "pip",
      "install",
      "--quiet",
      "--python",
      join(environment, "bin", "python"),
      `appdb${extra} @ file://${file}`,
    ]);
    return join(environment, "bin", "cli");
  }
});

function wheel(kind: (typeof KINDS)[number]): string {
  const found = readdirSync(FOLDERS[kind]).filter((name) => name.endsWith(".whl"));
  expect(found).toEqual([expect.stringContaining(`appdb-${VERSION}-`)]);
  return encodeURI(join(FOLDERS[kind], found[0] ?? ""));
}

/** Runs the commands of docs/quickstart.md. */
async function walkQuickstart(project: TestProject): Promise<void> {
  const version = await project.cli("--version");
  expect(version.stdout.trim(), version.stderr).toBe(VERSION);
  const said = await walkPrintedTour(project, "docs/quickstart.md", async (port) => {
    const page = await fetch(`http://127.0.0.1:${port}/docs`);
    expect(await page.text()).toContain("swagger");
    expect((await fetch(`http://127.0.0.1:${port}/openapi.json`)).status).toBe(200);
  });
  expect(JSON.parse(saidBy(said, "curl")[0] ?? "")).toMatchObject({ title_upper: "HELLO", summary: "Hello" });
  expect(saidBy(said, "cli service list")[0]).toContain("AVAILABLE");
  await expectExamples(project);
  expect(project.processes()).toEqual([]);
}

/** Checks that the examples are included. */
async function expectExamples(project: TestProject): Promise<void> {
  const listed = await project.cli("examples", "--json");
  expect(listed.code, listed.stderr).toBe(0);
  const { examples } = JSON.parse(listed.stdout);
  expect(examples.map(({ name }: { name: string }) => name).toSorted()).toEqual(
    readdirSync(EXAMPLES, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])),
  );
  const written = await project.cli("examples", "shop");
  expect(written.code, written.stderr).toBe(0);
  expect(readdirSync(join(project.folder, "shop"))).toEqual(expect.arrayContaining(["app.py", "client.py", "data"]));
}
