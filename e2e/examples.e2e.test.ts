import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { copyExample, databaseOf, EXAMPLES_WITH_CLIENT, makeExamplesPlace, runClient } from "./support/examples.ts";
import { type Place, ROOT } from "./support/place.ts";
import { listServices } from "./support/served.ts";

const PYRIGHT = join(ROOT, "node_modules", ".bin", "pyright");

let place: Place;

beforeAll(async () => {
  place = await makeExamplesPlace();
});

afterAll(async () => {
  await place?.[Symbol.asyncDispose]();
});

test("there are examples with a client", () => {
  expect(EXAMPLES_WITH_CLIENT).toContain("shop");
});

test.each(EXAMPLES_WITH_CLIENT)(
  "the example %s is applied and served, and each of its answers is as its client wants it",
  async (name) => {
    const folder = copyExample(name, place);
    const database = databaseOf(name);
    const run = async (line: string) => {
      const ran = await place.type(`cd "${folder}" && cli ${line}`);
      expect(ran.code, `cli ${line}\n${ran.stdout}${ran.stderr}`).toBe(0);
    };
    await run("schema check app.py");
    await run(`schema update app.py ${database}`);
    await run(`schema diff app.py ${database}`);
    await run(`service update app.py ${database} -f`);
    const services = await listServices(place, database);
    for (const { name: service, state, error } of services) expect(state, `${service}: ${error}`).toBe("AVAILABLE");
    const said = await runClient(place, folder, services);
    expect(said.split("\n").length).toBeGreaterThan(10);
    // what the client did must not have changed what the file and the database agree on
    await run(`schema diff app.py ${database}`);
  },
  180_000,
);

test("pyright finds nothing wrong in the files of any example", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-pyright-"));
  try {
    for (const name of EXAMPLES_WITH_CLIENT) copyExample(name, { project: folder });
    expect(await typeErrors(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 180_000);

/** What pyright says of all examples, each in a folder of its own, as an editor that was opened there would say it. */
async function typeErrors(folder: string): Promise<string[]> {
  const extraPaths = [join(ROOT, "python")];
  const executionEnvironments = EXAMPLES_WITH_CLIENT.map((root) => ({ root, extraPaths }));
  const config = { include: ["."], executionEnvironments, pythonVersion: "3.11" };
  writeFileSync(join(folder, "pyrightconfig.json"), JSON.stringify(config));
  const run = promisify(execFile)(PYRIGHT, ["--outputjson", "-p", folder], { encoding: "utf8" });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  const report = JSON.parse(stdout) as {
    summary: { filesAnalyzed: number };
    generalDiagnostics: { file: string; range: { start: { line: number } }; message: string }[];
  };
  expect(report.summary.filesAnalyzed).toBeGreaterThan(2 * EXAMPLES_WITH_CLIENT.length);
  return report.generalDiagnostics.map(
    ({ file, range, message }) => `${file.slice(folder.length + 1)}:${range.start.line + 1}: ${message}`,
  );
}
