import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { startWithAcme } from "./support/hosted.ts";
import { ensurePythonTools } from "./support/python-tools.ts";
import { expectExit, makeProject, writeFile } from "./support/served.ts";

const LONG = process.env.APPDB_FAULTS === "long";
/** Runs the cells of a file as a notebook. Prints what they print, then the first cell's output in HTML. */
const RUN_NOTEBOOK = `import json

import nbformat
from nbclient import NotebookClient

cells = [nbformat.v4.new_code_cell(cell) for cell in json.load(open("cells.json"))]
book = nbformat.v4.new_notebook(cells=cells)
NotebookClient(book, timeout=120, kernel_name="python3").execute()
outputs = [output for cell in book.cells for output in cell.outputs]
text = "".join(output.text for output in outputs if output.get("name") == "stdout")
html = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
print(json.dumps({"text": text, "html": html}))
`;
const PYTHON = join(ROOT, ".tools", "bin", "python");
const HOSTED = "cloud://acme:main";
/** Blocks of library.md that are run, each with the output that follows it. */
const BLOCK = /<!-- run -->\n```python\n(.*?)```\n(?:```text\n(.*?)```\n)?/gs;

const blocks = [...readFileSync(join(ROOT, "docs", "library.md"), "utf8").matchAll(BLOCK)];
const script = blocks.map(([, code]) => code).join("\n");
const shown = blocks.map(([, , output]) => output ?? "").join("");

test("the blocks of library.md do the same on local and hosted targets", async () => {
  await using project = await makeProject("");
  await startWithAcme(project);
  await expectExit(project, 0, "daemon", "start");
  const run = async (target: string) => {
    writeFile(project, "script.py", script.replaceAll('"main', `"${target}`));
    const env = { ...process.env, ...project.env, PYTHONPATH: join(ROOT, "python") };
    const { stdout } = await promisify(execFile)(PYTHON, ["script.py"], { cwd: project.folder, env });
    return stdout.replaceAll(target, "main");
  };
  expect(await run("main")).toBe(shown);
  expect(await run(HOSTED)).toBe(shown);
}, 240_000);

// e2e/program-leases.e2e.test.ts also has a notebook on a hosted target
test(`a notebook does the same${LONG ? " on local and hosted targets" : ""}`, async () => {
  await using project = await makeProject("");
  if (LONG) await startWithAcme(project);
  await expectExit(project, 0, "daemon", "start");
  const python = join(await ensurePythonTools("library"), "python");
  writeFile(project, "run_notebook.py", RUN_NOTEBOOK);
  const places = ["JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"];
  const jupyter = Object.fromEntries(places.map((name) => [name, join(project.folder, name.toLowerCase())]));
  const env = { ...process.env, ...project.env, ...jupyter, PYTHONPATH: join(ROOT, "python") };
  const run = async (target: string) => {
    const cells = blocks.map(([, code = ""]) => code.replaceAll('"main', `"${target}`));
    // the result of the query before, as the value of a cell
    const at = cells.findIndex((code) => code.startsWith("result = ")) + 1;
    writeFile(project, "cells.json", JSON.stringify(cells.toSpliced(at, 0, "result")));
    const { stdout } = await promisify(execFile)(python, ["run_notebook.py"], { cwd: project.folder, env });
    const { html, text } = JSON.parse(stdout) as { html: string[]; text: string };
    return { html, text: text.replaceAll(target, "main") };
  };
  const local = await run("main");
  expect(local.text).toBe(shown);
  expect(local.html.join("")).toMatch(/<table.*Ulysses.*365/s);
  if (LONG) expect(await run(HOSTED)).toEqual(local);
}, 240_000);
