import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { copyExample, EXAMPLES, EXAMPLES_WITH_CLIENT, runClient, startProvider } from "./support/examples.ts";
import { makePlace, ROOT } from "./support/place.ts";
import { expectExit, listServices } from "./support/served.ts";

const PYRIGHT = join(ROOT, "node_modules", ".bin", "pyright");

test("there are examples with a client", () => {
  expect(EXAMPLES_WITH_CLIENT).toContain("shop");
});

test.each(EXAMPLES_WITH_CLIENT)(
  "the example %s is applied and served, and each of its answers is as its client wants it",
  async (name) => {
    await using provider = await startProvider(join(EXAMPLES, name));
    await using place = makePlace({ env: provider.env });
    copyExample(name, place.project);
    await expectExit(place, 0, "schema", "check", "app.py");
    await expectExit(place, 0, "schema", "update", "app.py", "main");
    await expectExit(place, 0, "schema", "diff", "app.py", "main");
    await expectExit(place, 0, "service", "update", "app.py", "main", "-f");
    for (const { name: service, state, error } of await listServices(place)) {
      expect(state, `${service}: ${error}`).toBe("AVAILABLE");
    }
    const said = await runClient(place, place.project, await listServices(place));
    expect(said.split("\n").length).toBeGreaterThan(10);
    // what the client did must not have changed what the file and the database agree on
    await expectExit(place, 0, "schema", "diff", "app.py", "main");
  },
  180_000,
);

test("pyright finds nothing wrong in the files of any example", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-pyright-"));
  try {
    for (const name of EXAMPLES_WITH_CLIENT) expect([name, await typeErrors(name, folder)]).toEqual([name, []]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 180_000);

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
