import { existsSync } from "node:fs";
import { join } from "node:path";
import { HOME_PATHS } from "@appdb/contract/home";
import type { DaemonHealth } from "@appdb/contract/routes/local";
import type { Context, FoundDaemon } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { count } from "../../output/count.ts";
import { EXIT } from "../../output/exit-codes.ts";
import type { Output } from "../../output/output.ts";

/** Status of the home's daemon. */
export interface DaemonStatus {
  readonly running: boolean;
  readonly home: string;
  /** Null when the home never had a daemon. */
  readonly log_file: string | null;
  readonly port: number | null;
  /** Null when none runs; for `cli status` also when it does not answer. */
  readonly health: DaemonHealth | null;
}

/** Exits with 1 when no daemon runs. */
export const status = defineCommand<JsonFlag, [], DaemonStatus>({
  brief: "Show whether the daemon runs; exit 1 when it does not",
  examples: [
    ["cli daemon status", "process, version and what it does"],
    ["cli daemon status --json", "the same for a program"],
  ],
  parameters: {},
  run: async (ctx) => describeDaemon(ctx, await ctx.daemon.find()),
  render: printDaemon,
  exitCode: ({ running }) => (running ? EXIT.done : EXIT.failed),
});

/** Status of a running daemon, or of none. */
export function describeDaemon(ctx: Pick<Context, "config">, found: FoundDaemon | undefined): DaemonStatus {
  const { home } = ctx.config;
  const log = join(home, HOME_PATHS.daemonLog);
  const logFile = found !== undefined || existsSync(log) ? log : null;
  if (found === undefined) return { running: false, home, log_file: logFile, port: null, health: null };
  return { running: true, home, log_file: logFile, port: found.file.port, health: found.health };
}

export function printDaemon(status: DaemonStatus, out: Output): void {
  const { health, home, log_file: logFile, port } = status;
  if (health === null) {
    out.line(`No daemon runs for ${home}.`);
    if (logFile !== null) out.line(`log of the last one ${logFile}`);
    return;
  }
  out.line(
    `The daemon runs: process ${health.pid}, port ${port}, version ${health.version}, since ${health.started_at}`,
  );
  out.line(
    `home ${health.home}, PostgreSQL ${health.postgres}, ${count(health.services, "service")} running, busy with ${health.busy}`,
  );
  if (health.postgres_failure != null) out.line(`${health.postgres_failure.detail}\n${health.postgres_failure.hint}`);
  out.line(`log ${logFile}`);
}
