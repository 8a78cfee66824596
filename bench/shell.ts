import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runInTerminal } from "@appdb/testkit/terminal";
import { openTestProject } from "@appdb/testkit/test-project";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";
import { cliCommand, command } from "./support/served-project.ts";

const TABLES = 500;
const TARGET = "shell";

const APP = ["import appdb as db", "", "Base = db.model_base()"]
  .concat(
    Array.from(
      { length: TABLES },
      (_, table) =>
        `\n\nclass T${table}(Base, name="t${table}"):\n    id = db.Column(type=db.Int, primary_key=True)\n    title: db.String\n    body: db.String | None\n    score: db.Float | None\n    only_${table}_here: db.Int | None`,
    ),
  )
  .join("\n");

/** Times the shell in a pseudo-terminal, at a database of 500 tables with a warm daemon. */
export async function measureShell(bench: Bench): Promise<Measure[]> {
  await using project = openTestProject();
  const { env, folder } = project;
  await writeFile(join(folder, "app.py"), `${APP}\n`);
  await command(env, folder, ["init"]);
  await command(env, folder, ["schema", "update", "app.py", TARGET]);
  const { args, program } = cliCommand(["shell", TARGET]);
  const first: number[] = [];
  const completed: number[] = [];
  for (let run = 0; run < bench.runs * 4; run += 1) {
    const { seconds } = await runInTerminal(
      [program, ...args],
      [
        { wait: "> " },
        { type: "count t7\r" },
        { wait: "\n0\r\n" },
        { wait: "> " },
        // as long as a person takes to type the line
        { pause: 2 },
        { type: "select only_499_h" },
        { wait: "only_499_h" },
        { type: "\t" },
        { wait: "ere" },
        { type: "\u0003" },
        { wait: "> " },
        { type: "exit\r" },
      ],
      { cwd: folder, env: { ...env, TERM: "xterm" } },
    );
    first.push(seconds.slice(0, 3).reduce((sum, one) => sum + one, 0) * 1000);
    completed.push((seconds[8] ?? 0) * 1000);
  }
  const plain = { unit: "ms", limit: undefined };
  return [
    { name: "first result of the shell, daemon warm", ours: first, reach: { at_most: 300 }, ...plain },
    {
      name: `completion of a column among ${TABLES} tables`,
      ours: completed,
      reach: { at_most: 50 },
      ...plain,
      digits: 1,
    },
  ];
}
