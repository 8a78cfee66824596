import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTestProject, ROOT } from "@appdb/testkit/test-project";
import { afterEach, beforeEach, expect, test } from "vitest";

const SCHEMAS = "ZodError";

let installation: string;
let bundle: string;
beforeEach(() => {
  installation = mkdtempSync(join(tmpdir(), "appdb-bundle-"));
  for (const name of [".tools", "python", "package.json"]) symlinkSync(join(ROOT, name), join(installation, name));
  bundle = join(installation, "dist");
  cpSync(join(ROOT, "dist"), bundle, { recursive: true, filter: (path) => !/\.whl$|[\\/](server|gateway)/.test(path) });
});
afterEach(() => rmSync(installation, { recursive: true }));

const textOf = (name: string) => readFileSync(join(bundle, `${name}.js`), "utf8");

test("frequent commands need only two files, without schemas", async () => {
  expect(["cli-main", "cli-program", "cli-more"].map((name) => textOf(name).includes(SCHEMAS))).toEqual([
    false,
    false,
    true,
  ]);
  // the build has run commands that load each of them
  expect(
    readdirSync(bundle)
      .filter((name) => /^cli-.*compiled$/.test(name))
      .sort(),
  ).toEqual(["cli-main.compiled", "cli-more.compiled", "cli-program.compiled"]);
  const command = join(installation, "cli");
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${join(bundle, "cli.js")}' "$@"\n`);
  chmodSync(command, 0o755);
  await using project = openTestProject({ command });
  const run = async (...words: string[]) => {
    const { code, stderr, stdout } = await project.cli(...words);
    expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: expect.any(String) });
    return stdout;
  };
  cpSync(join(ROOT, "examples", "quickstart"), project.folder, { recursive: true });
  await run("schema", "update", "app.py", "main");
  writeFileSync(join(project.folder, "rows.jsonl"), '{"title":"Emma"}');
  await run("insert", "main/docs", "rows.jsonl");
  const { rows } = JSON.parse(await run("rows", "main/docs", "--json")) as { rows: { id: string }[] };
  const more = textOf("cli-more");
  rmSync(join(bundle, "cli-more.js"));

  const commands = [
    ["ls", "main"],
    ["describe", "main/docs"],
    ["columns", "main/docs"],
    ["rows", "main/docs"],
    ["count", "main/docs"],
    ["get", "main/docs", rows[0]?.id ?? ""],
    ["schema", "diff", "app.py", "main"],
    ["schema", "update", "app.py", "main"],
  ];
  const printed: string[] = [];
  for (const words of commands) printed.push(await run(...words));
  expect(printed.join("")).toContain("Emma");

  writeFileSync(join(bundle, "cli-more.js"), more);
  await run("daemon", "stop");
}, 120_000);
