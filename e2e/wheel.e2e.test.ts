import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VERSION } from "@appdb/contract/version";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pathWithout } from "./support/path-without.ts";
import { freePort, makePlace, type Place, ROOT } from "./support/place.ts";

const UV = join(ROOT, ".tools", "bin", "uv");
const PYTHON = join(ROOT, ".tools", "bin", "python");

describe("the wheel, on a PATH without Node", () => {
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

  test("the tour works with the command that is a shell script", async () => {
    const command = install("posix", wheel("manylinux"), "[serve]");
    expect(readFileSync(command, "utf8").split("\n")[0]).toBe("#!/bin/sh");
    await using place = makePlace({ command, path });
    await walkTour(place);
  }, 240_000);

  test("the tour works with the command that is a Python entry point", async () => {
    const command = install("any", wheel("none-any"), "[serve]");
    expect(readFileSync(command, "utf8")).toContain("appdb._bundle.launcher");
    await using place = makePlace({ command, path });
    await walkTour(place);
  }, 240_000);

  test.each(["manylinux", "none-any"])("without the extra (%s) the command says what to install", async (kind) => {
    const command = install(`bare-${kind}`, wheel(kind), "");
    await using place = makePlace({ command, path });
    const said = await place.cli("--version");
    expect(said.code).toBe(1);
    expect(said.stderr).toContain("needs Node 20.19 or newer");
    expect(said.stderr).toContain("hint: pip install 'appdb[serve]'");
  });

  test("without the extra the library needs msgpack alone", () => {
    const python = join(folder, "bare-none-any", "bin", "python");
    const listed = execFileSync(UV, ["pip", "list", "--quiet", "--format", "json", "--python", python], {
      encoding: "utf8",
    });
    expect(JSON.parse(listed).map(({ name }: { name: string }) => name)).toEqual(["appdb", "msgpack"]);
    execFileSync(python, ["-c", "import appdb, appdb.functions, appdb.serving"]);
  });

  /** A virtual environment with this wheel in it; answers its command. */
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

function wheel(kind: string): string {
  const found = readdirSync(join(ROOT, "dist")).filter(
    (name) => name.startsWith(`appdb-${VERSION}-`) && name.includes(kind),
  );
  expect(found).toHaveLength(1);
  return encodeURI(join(ROOT, "dist", found[0] ?? ""));
}

/** What README.md's tour does, in short: readme.e2e.test.ts walks it word by word with the checkout's command. */
async function walkTour(place: Place): Promise<void> {
  const version = await place.cli("--version");
  expect(version.stdout.trim(), version.stderr).toBe(VERSION);
  await expectStatus(place, 0, "init");
  await expectStatus(place, 0, "service", "example", "--out", "app.py");
  await expectStatus(place, 2, "schema", "diff", "app.py", "main");
  await expectStatus(place, 0, "schema", "update", "app.py", "main");
  await expectStatus(place, 0, "schema", "diff", "app.py", "main");

  const port = await freePort();
  await expectStatus(place, 0, "service", "update", "app.py", "main", "-f", "--port", String(port));
  const insert = await fetch(`http://127.0.0.1:${port}/docs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ title: "Hello", body: "World" }),
  });
  expect(await insert.json()).toMatchObject({ title_upper: "HELLO", summary: "Hello" });
  const page = await fetch(`http://127.0.0.1:${port}/docs`);
  expect(await page.text()).toContain("swagger");
  expect((await fetch(`http://127.0.0.1:${port}/openapi.json`)).status).toBe(200);
  await expectStatus(place, 0, "service", "logs", "main/ingest");
  await expectStatus(place, 0, "daemon", "stop");
  expect(place.processes()).toEqual([]);
}

async function expectStatus(place: Place, status: number, ...args: string[]): Promise<void> {
  const done = await place.cli(...args);
  expect(done.code, `cli ${args.join(" ")}\n${done.stdout}${done.stderr}`).toBe(status);
}
