import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ServedProject } from "./served-project.ts";

const run = promisify(execFile);

/** Runs SQL in the benchmark's database and returns its rows as text. */
export async function query(served: Pick<ServedProject, "dsn" | "binaries">, text: string): Promise<string> {
  const args = ["--no-psqlrc", "--tuples-only", "--no-align", "--command", text, served.dsn];
  return (await run(join(served.binaries, "psql"), args)).stdout;
}
