import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { startWithAcme } from "./support/hosted.ts";
import { expectExit, makeProject, writeFile } from "./support/served.ts";

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
