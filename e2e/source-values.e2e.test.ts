import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { ensurePythonTools } from "./support/python-tools.ts";
import { makeProject } from "./support/served.ts";

/** `npm run test:faults` runs all ways of each value. */
test.each(["source_values.py", "marked_kinds.py"])(
  "the library and the command read the same values: %s",
  async (name) => {
    const python = join(await ensurePythonTools("library"), "python");
    await using project = await makeProject("");
    const env = { ...process.env, ...project.env, PYTHONPATH: join(ROOT, "python") };
    const options = { cwd: project.folder, env, maxBuffer: 64_000_000 };
    const { stdout } = await promisify(execFile)(python, [join(ROOT, "e2e", "oracle", name)], options);
    expect(JSON.parse(stdout)).toEqual([]);
  },
  300_000,
);
