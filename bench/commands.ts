import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Measure } from "./report.ts";
import { cliCommand, command, type Stage, time } from "./stage.ts";

/** Times the command against Node doing nothing: `--version`, `schema diff` with a warm daemon, the first command of all. */
export async function measureCommands(stage: Stage, runs: number): Promise<Measure[]> {
  const node: number[] = [];
  const version: number[] = [];
  const diff: number[] = [];
  const first: number[] = [];
  const diffCommand = cliCommand(["schema", "diff", "app.py", "bench"]);
  const versionCommand = cliCommand(["--version"]);
  // Short processes vary most: four times as many runs, in turn.
  for (let run = 0; run < runs * 4; run += 1) {
    node.push(time(process.execPath, ["-e", "0"], {}));
    version.push(time(versionCommand.program, versionCommand.args, {}));
    diff.push(time(diffCommand.program, diffCommand.args, { cwd: stage.project, env: stage.env }));
  }
  for (let run = 0; run < runs; run += 1) first.push(await timeFirstUpdate(stage.env));
  return [
    { name: "cli --version, against node -e 0", unit: "ms", ours: version, limit: node, reach: { at_most: 1.4 } },
    {
      name: "schema diff, nothing to do, against node -e 0",
      unit: "ms",
      ours: diff,
      limit: node,
      reach: { at_most: 2.5 },
    },
    {
      name: "first schema update on an empty home",
      unit: "s",
      ours: first,
      limit: undefined,
      reach: { at_most: 2 },
      digits: 2,
    },
  ];
}

async function timeFirstUpdate(env: Stage["env"]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  const project = join(folder, "project");
  const fresh = { ...env, SERVICE_HOME: join(folder, "home") };
  try {
    await cp(fileURLToPath(new URL("../examples/quickstart", import.meta.url)), project, { recursive: true });
    await command(fresh, project, ["init"]);
    const update = cliCommand(["schema", "update", "app.py", "main"]);
    return time(update.program, update.args, { cwd: project, env: fresh }) / 1000;
  } finally {
    await command(fresh, project, ["daemon", "stop"]).catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  }
}
