import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setHosted } from "./hosted.ts";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";
import { cliCommand, command, type ServedProject, time } from "./support/served-project.ts";
import { installWheel } from "./wheel.ts";

const QUICKSTART = fileURLToPath(new URL("../examples/quickstart", import.meta.url));
const TARGET = "commands";
const TABLE = `${TARGET}/docs`;
const ROW = { title: "Emma", body: "words" };

/** A way to start the command, and the Node process that it becomes. */
interface Starter {
  readonly name: string;
  readonly node: string;
  readonly program: string;
  readonly args: readonly string[];
}

/**
 * Times the command against an empty Node process: `--version`, `schema diff` and reads with a warm daemon, `whoami` with a
 * hosted service on this machine, and the very first command.
 */
export async function measureCommands(bench: Bench): Promise<Measure[]> {
  const { runs } = bench;
  const served = await bench.served();
  await using wheel = await installWheel();
  await using project = await setProject(served.env);
  await using _hosted = await setHosted(served.env);
  const starters: readonly Starter[] = [
    { name: "the wheel's cli", node: wheel.node, program: wheel.cli, args: [] },
    { name: "cli of the checkout", node: process.execPath, ...cliCommand([]) },
  ];
  const measures = starters.flatMap((starter) =>
    measureStarter(starter, { folder: project.folder, key: project.key, env: served.env }, runs),
  );
  const first: number[] = [];
  for (let run = 0; run < runs; run += 1) first.push(await timeFirstUpdate(served.env));
  const name = "first schema update on an empty home";
  return [...measures, { name, unit: "s", ours: first, limit: undefined, reach: { at_most: 2 }, digits: 2 }];
}

/** The quickstart example: imports of an application itself (asyncio, for instance) are not the command's time. */
async function setProject(
  env: ServedProject["env"],
): Promise<{ readonly folder: string; readonly key: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  await cp(QUICKSTART, folder, { recursive: true });
  await command(env, folder, ["init"]);
  await command(env, folder, ["schema", "update", "app.py", TARGET]);
  await writeFile(join(folder, "rows.jsonl"), JSON.stringify(ROW));
  await command(env, folder, ["insert", TABLE, "rows.jsonl"]);
  const { rows } = JSON.parse(await command(env, folder, ["rows", TABLE, "--json"])) as { rows: { id: string }[] };
  return { folder, key: rows[0]?.id ?? "", [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

function measureStarter(
  { name, node, program, args }: Starter,
  served: Pick<ServedProject, "folder" | "env"> & { readonly key: string },
  runs: number,
): Measure[] {
  const limit: number[] = [];
  const version: number[] = [];
  const diff: number[] = [];
  const whoami: number[] = [];
  const reads = [
    { name: "ls", typed: ["ls", TARGET], ours: [] as number[] },
    { name: "count", typed: ["count", TABLE], ours: [] as number[] },
    { name: "get", typed: ["get", TABLE, served.key], ours: [] as number[] },
  ];
  const typed = [...args, "schema", "diff", "app.py", TARGET];
  // Short processes vary most, so there are four times as many runs, alternating.
  for (let run = 0; run < runs * 4; run += 1) {
    limit.push(time(node, ["-e", "0"], {}));
    version.push(time(program, [...args, "--version"], {}));
    diff.push(time(program, typed, { cwd: served.folder, env: served.env }));
    whoami.push(time(program, [...args, "whoami"], { cwd: served.folder, env: served.env }));
    for (const read of reads)
      read.ours.push(time(program, [...args, ...read.typed], { cwd: served.folder, env: served.env }));
  }
  return [
    { name: `${name} --version, against its node -e 0`, unit: "ms", ours: version, limit, reach: { at_most: 1.4 } },
    {
      name: `${name} schema diff, nothing to do, against its node -e 0`,
      unit: "ms",
      ours: diff,
      limit,
      reach: { at_most: 2.5 },
    },
    {
      name: `${name} whoami, signed in, against its node -e 0`,
      unit: "ms",
      ours: whoami,
      limit,
      reach: { at_most: 3 },
    },
    ...reads.map((read) => ({
      name: `${name} ${read.name}, against its node -e 0`,
      unit: "ms",
      ours: read.ours,
      limit,
      reach: { at_most: 2.2 },
    })),
  ];
}

async function timeFirstUpdate(env: ServedProject["env"]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  const project = join(folder, "project");
  const fresh = { ...env, SERVICE_HOME: join(folder, "home") };
  try {
    await cp(QUICKSTART, project, { recursive: true });
    await command(fresh, project, ["init"]);
    const update = cliCommand(["schema", "update", "app.py", "main"]);
    return time(update.program, update.args, { cwd: project, env: fresh }) / 1000;
  } finally {
    await command(fresh, project, ["daemon", "stop"]).catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  }
}
