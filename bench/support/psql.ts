import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Stage } from "./stage.ts";

const run = promisify(execFile);

/** Runs SQL in the benchmark's database and returns its rows as text. */
export async function query(stage: Stage, text: string): Promise<string> {
  const args = ["--no-psqlrc", "--tuples-only", "--no-align", "--command", text, stage.dsn];
  return (await run(join(stage.binaries, "psql"), args)).stdout;
}
