import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectExit, makeProject, snapshot } from "./support/served.ts";

const APP = `import appdb as db

Base = db.model_base()


class Docs(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String | None
`;

/** A command line with @ for its target; the exit status of a usage error; how a missing target is described. */
const COMMANDS: readonly [line: string, usage: 1 | 2, missing: RegExp][] = [
  ["describe @", 2, /Table main\/nope does not exist/],
  ["rows @", 2, /Table main\/nope does not exist/],
  ["get @ 1", 2, /Table main\/nope does not exist/],
  ["count @", 2, /Table main\/nope does not exist/],
  ["export @", 2, /Table main\/nope does not exist/],
  ["insert @ rows.jsonl", 2, /Table main\/nope does not exist/],
  ["update @ 1 --set title=x", 2, /Table main\/nope does not exist/],
  ["delete @ 1 -f", 2, /Table main\/nope does not exist/],
  ["drop @ -f", 1, /Table main\/nope does not exist/],
  ["drop @ -n", 1, /Table main\/nope does not exist/],
  ["drop-dir @ -f", 1, /The folder main\/nope does not exist/],
  ["drop-dir @ -n", 1, /The folder main\/nope does not exist/],
  ["rename @ papers", 1, /Table main\/nope does not exist/],
  ["mv @ main/reports", 1, /Table main\/nope does not exist/],
  ["recompute @ -f", 2, /Table nope does not exist/],
  ["errors @", 2, /There is no table main\/nope/],
  ["columns @", 2, /main\/nope is neither a table nor a folder/],
  ["indexes @", 2, /main\/nope is neither a table nor a folder/],
  ["psql @ -c 'select 1'", 2, /The database has no folder nope/],
  ["query run --target @ 'select 1'", 2, /The database has no folder nope/],
  ["db delete @", 1, /No local database named 'main\/nope'/],
  ["service stop @", 1, /There is no service 'main\/nope'/],
  ["service restart @", 1, /There is no service 'main\/nope'/],
  ["service logs @", 1, /There is no service 'main\/nope'/],
];

let project: TestProject;
let before: unknown;

beforeAll(async () => {
  project = await makeProject(APP);
  await expectExit(project, 0, "schema", "update", "app.py", "main");
  before = await snapshot(project);
});
afterAll(async () => {
  await project?.[Symbol.asyncDispose]();
});

/** Runs a command line that is wrong: one error, one hint, no stack, no output. */
async function refused(line: string): Promise<{ readonly code: number | null; readonly error: string }> {
  // a statement is read from the input
  const { code, stderr, stdout } = await project.type(`cli ${line} </dev/null`);
  const [error, hint, ...more] = stderr.split(/^(?=error: |hint: )/m);
  expect({ line, stdout, error, hint, more }).toEqual({
    line,
    stdout: "",
    error: expect.stringMatching(/^error: ./),
    hint: expect.stringMatching(/^hint: .+\n$/),
    more: [],
  });
  expect(stderr).not.toMatch(/^\s+at /m);
  return { code, error: error ?? "" };
}

test.each(COMMANDS)("cli %s is refused without arguments, with wrong ones and without its target", async (...given) => {
  const [line, usage, missing] = given;
  const words = line.replace(/ (--|@).*$/, "");
  expect(await refused(words)).toEqual({
    code: usage,
    error: expect.stringMatching(/(is missing|needs a value)\.\n$/),
  });
  expect(await refused(`${words} --no-such-option`)).toEqual({
    code: usage,
    error: expect.stringContaining("No option named --no-such-option."),
  });
  expect(await refused(line.replace("@", "main/nope"))).toEqual({ code: 1, error: expect.stringMatching(missing) });
  expect(await refused(line.replace("@", "main//docs"))).toEqual({
    code: 1,
    error: "error: 'main//docs' is not valid: the folder is empty.\n",
  });
});

test("nothing was changed", async () => {
  expect(await snapshot(project)).toEqual(before);
});
