// The limit of PostgreSQL: pgbench with prepared statements, one row per transaction into the same table.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Transactions per second of one statement. @param binaries folder that contains pgbench */
export async function runPgbench(input: {
  readonly binaries: string;
  readonly dsn: string;
  readonly statement: string;
  readonly clients: number;
  readonly seconds: number;
}): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  try {
    const script = join(folder, "insert.sql");
    await writeFile(script, `${input.statement};\n`);
    const { stdout } = await run(join(input.binaries, "pgbench"), [
      "-n",
      "-M",
      "prepared",
      "-f",
      script,
      "-T",
      String(input.seconds),
      "-c",
      String(input.clients),
      "-j",
      String(Math.min(2, input.clients)),
      input.dsn,
    ]);
    const tps = /tps = ([\d.]+)/.exec(stdout);
    if (tps === null) throw new Error(`pgbench printed no readable result:\n${stdout}`);
    return Number(tps[1]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
