import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { makePlace, ROOT } from "./support/place.ts";
import { expectExit, listServices } from "./support/served.ts";

const EXAMPLES = join(ROOT, "examples");
const PYTHON = join(ROOT, ".tools", "bin", "python");
const PYRIGHT = join(ROOT, "node_modules", ".bin", "pyright");

/** Those that a client uses and asserts; `quickstart` and `tables` are texts that commands print. */
const NAMES = readdirSync(EXAMPLES).filter((name) => existsSync(join(EXAMPLES, name, "client.py")));

test("there are examples with a client", () => {
  expect(NAMES).toContain("shop");
});

test.each(NAMES)(
  "the example %s is applied and served, and each of its answers is as its client wants it",
  async (name) => {
    const folder = join(EXAMPLES, name);
    await using provider = await startProvider(folder);
    await using place = makePlace({ env: provider.env });
    cpSync(folder, place.project, { recursive: true, filter: (path) => !path.includes("__pycache__") });
    await expectExit(place, 0, "schema", "check", "app.py");
    await expectExit(place, 0, "schema", "update", "app.py", "main");
    await expectExit(place, 0, "schema", "diff", "app.py", "main");
    await expectExit(place, 0, "service", "update", "app.py", "main", "-f");
    for (const { name: service, state, error } of await listServices(place)) {
      expect(state, `${service}: ${error}`).toBe("AVAILABLE");
    }
    const addresses = (await listServices(place)).map(({ endpoint }) => endpoint);
    const client = await place.type(`"${PYTHON}" client.py ${addresses.join(" ")}`);
    expect(client.code, `${client.stdout}${client.stderr}`).toBe(0);
    expect(client.stdout.split("\n").length).toBeGreaterThan(10);
    // what the client did must not have changed what the file and the database agree on
    await expectExit(place, 0, "schema", "diff", "app.py", "main");
  },
  180_000,
);

test("pyright finds nothing wrong in the files of any example", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-pyright-"));
  try {
    for (const name of NAMES) expect([name, await typeErrors(name, folder)]).toEqual([name, []]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 180_000);

interface Provider extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
}

/** Starts the `provider.py` of an example that calls one; its first line is the variable that holds its address. */
async function startProvider(folder: string): Promise<Provider> {
  const file = join(folder, "provider.py");
  if (!existsSync(file)) return { env: {}, [Symbol.asyncDispose]: async () => {} };
  const child = spawn(PYTHON, ["-u", file], { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const [name = "", value = ""] = line.split("=");
  return {
    env: { [name]: value },
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await closed;
    },
  };
}

/** What pyright says of an example, in a folder of its own, as an editor that was opened there would say it. */
async function typeErrors(name: string, parent: string): Promise<string[]> {
  const folder = join(parent, name);
  mkdirSync(folder);
  cpSync(join(EXAMPLES, name), folder, { recursive: true });
  const config = { include: ["."], extraPaths: [join(ROOT, "python")], pythonVersion: "3.11" };
  writeFileSync(join(folder, "pyrightconfig.json"), JSON.stringify(config));
  const run = promisify(execFile)(PYRIGHT, ["--outputjson", "-p", folder], { encoding: "utf8" });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  const report = JSON.parse(stdout) as {
    summary: { filesAnalyzed: number };
    generalDiagnostics: { file: string; range: { start: { line: number } }; message: string }[];
  };
  expect(report.summary.filesAnalyzed).toBeGreaterThan(1);
  return report.generalDiagnostics.map(
    ({ file, range, message }) => `${file.slice(folder.length + 1)}:${range.start.line + 1}: ${message}`,
  );
}
