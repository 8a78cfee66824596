import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeBigApp } from "./big-app.ts";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";
import { command, time } from "./support/served-project.ts";
import { installWheel } from "./wheel.ts";

/** Seconds for a large application with the wheel: its manifest alone, and `schema diff` without changes. */
export async function measureBigFile(bench: Bench): Promise<Measure[]> {
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  const project = join(folder, "project");
  const env = { ...process.env, SERVICE_HOME: join(folder, "home") };
  try {
    await using wheel = await installWheel();
    await mkdir(project);
    await writeBigApp(project);
    await command(env, project, ["init"]);
    await command(env, project, ["schema", "update", "app.py", "big"]);
    const manifest: number[] = [];
    const diff: number[] = [];
    const typed = ["-P", "-m", "appdb.manifest", "app.py"];
    for (let run = 0; run < bench.runs * 2; run += 1) {
      bench.say(`run ${run + 1} of ${bench.runs * 2}`);
      manifest.push(time(wheel.python, typed, { cwd: project, env }) / 1000);
      diff.push(time(wheel.cli, ["schema", "diff", "app.py", "big"], { cwd: project, env }) / 1000);
    }
    return [
      {
        name: "manifest of a file with 50 tables and 200 functions",
        ours: manifest,
        ...SECONDS,
        reach: { at_most: 1 },
      },
      { name: "schema diff of that file, nothing to do", ours: diff, ...SECONDS, reach: { at_most: 1.5 } },
    ];
  } finally {
    await command(env, project, ["daemon", "stop"]).catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  }
}

const SECONDS = { unit: "s", limit: undefined, digits: 2 } as const;
