import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { runInTerminal, type TerminalStep } from "@appdb/testkit/terminal";
import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readShownBlock, readTypedLines } from "./support/pages/typed-lines.ts";
import { expectExit, makeProject, writeFile } from "./support/served.ts";

const APP = `import appdb as db
from appdb.serving import Router

Base = db.model_base()


class Docs(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String


docs = Router()
docs.add_insert_route(Docs, path="/docs")
`;

const type = (text: string): TerminalStep => ({ type: text });
const wait = (text: string): TerminalStep => ({ wait: text });
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

let project: TestProject;

beforeAll(async () => {
  project = await makeProject(APP);
  await expectExit(project, 0, "schema", "update", "app.py", "main");
});
afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

const inTerminal = (words: readonly string[], steps: readonly TerminalStep[]) =>
  runInTerminal(["cli", ...words], steps, { cwd: project.folder, env: { ...project.env, TERM: "xterm" } });

test("a person types commands, completes names and sees previous lines", async () => {
  const first = await inTerminal(
    ["shell", "main"],
    [
      wait("main> "),
      type("count docs\r"),
      wait("\n0\r\n"),
      wait("main> "),
      type("descr\t"),
      wait("describe "),
      type("do\t"),
      wait("docs "),
      type("\r"),
      wait("title"),
      wait("main> "),
      type("secret set acme A=b\r"),
      wait("error"),
      wait("main> "),
      type("pwd\r"),
      wait("main> "),
      type(CTRL_D),
    ],
  );
  expect(first.output).toContain("describe docs");
  expect(first.exit).toBe(1);
  const history = join(project.home, "shell-history");
  expect(readFileSync(history, "utf8")).toBe("count docs\ndescribe docs \npwd\n");
  expect(statSync(history).mode & 0o777).toBe(0o600);
  const second = await inTerminal(
    ["shell", "main"],
    [wait("main> "), type("\u001b[A\u001b[A\r"), wait("title"), wait("main> "), type("exit\r")],
  );
  expect(second.exit).toBe(0);
});

test("Ctrl-C cancels the command and not the shell, clears the line, and twice ends the shell", async () => {
  const ran = await inTerminal(
    ["shell", "main"],
    [
      wait("main> "),
      type("service run app.py --port 0\r"),
      wait("http://"),
      type(CTRL_C),
      wait("main> "),
      type("count do"),
      wait("count do"),
      type(CTRL_C),
      wait("main> "),
      type("count docs\r"),
      wait("\n0\r\n"),
      wait("main> "),
      type(CTRL_C),
      wait("Ctrl-C again ends the shell."),
      wait("main> "),
      type(CTRL_C),
    ],
  );
  expect(ran.output).not.toContain("Internal error");
});

test("a question of a command is answered in the shell", async () => {
  const ran = await inTerminal(
    ["shell", "main"],
    [
      wait("main> "),
      type("db delete main\r"),
      wait("Type its name"),
      type(CTRL_C),
      wait("Nothing was changed"),
      wait("main> "),
      type("count docs\r"),
      wait("\n0\r\n"),
      wait("main> "),
      type("exit\r"),
    ],
  );
  expect(ran.exit).toBe(130);
});

test("piped lines run without prompts, and the status is that of the last failure", async () => {
  writeFile(project, "commands.txt", "count docs\ncount nothing\ncount docs\n");
  const ran = await project.type("cli shell main < commands.txt");
  expect(ran).toMatchObject({ code: 1, stdout: "0\n0\n" });
  expect(ran.stderr).toContain("nothing");
  expect(ran.stderr).not.toContain("main>");
});

test("the lines of shell.md work here", async () => {
  writeFile(project, "commands.txt", "count docs\n");
  const lines = readTypedLines("docs/shell.md").filter(({ text }) => !text.includes("cloud://"));
  expect(lines.length).toBeGreaterThan(2);
  for (const { text } of lines) {
    const ran = await project.type(text.includes("|") ? text : `${text} </dev/null`);
    expect(ran.code, `${text}\n${ran.stderr}`).toBe(0);
  }
  const typed = readShownBlock("docs/shell.md", "main> ")
    .split("\n")
    .flatMap((line) => /^\S+> (.*)$/.exec(line)?.[1] ?? []);
  const ran = await project.type(`printf '%s\\n' ${typed.map((line) => `'${line}'`).join(" ")} | cli shell main`);
  expect(ran.code, ran.stderr).toBe(0);
});

test("the lines of status.md work here", async () => {
  const lines = readTypedLines("docs/status.md").filter(({ text }) => !/cloud:|--org/.test(text));
  expect(lines.length).toBeGreaterThan(4);
  for (const { text } of lines) {
    const ran = await project.type(`${text} --json`);
    expect(ran.code, `${text}\n${ran.stderr}`).toBe(0);
    expect(() => JSON.parse(ran.stdout)).not.toThrow();
  }
  const { limits } = JSON.parse((await project.type("cli limits --json")).stdout);
  expect(limits).toContainEqual({ name: "workers", value: 1, setting: "SERVICE_WORKERS", default: 1 });
});
