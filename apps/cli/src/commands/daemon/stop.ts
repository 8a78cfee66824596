import { AppError } from "@appdb/contract/errors";
import type { Context } from "../../context.ts";
import { findOrHung } from "../../daemon/find-or-hung.ts";
import { defineCommand } from "../../define-command.ts";
import { type Forced, NO_QUESTION } from "./no-question.ts";

interface StopResult {
  /** False when no daemon was running. */
  readonly stopped: boolean;
  readonly pid: number | null;
  /** Whether the daemon did not answer and was killed. */
  readonly killed: boolean;
  /** A PostgreSQL of the home that ran without a daemon, and was ended. */
  readonly postgres_pid: number | null;
}

/**
 * Returns after the process and PostgreSQL have ended, also a PostgreSQL whose daemon was killed. Kills a daemon that
 * does not answer.
 */
export const stop = defineCommand<Forced, [], StopResult>({
  brief: "Stop the daemon, its services and its PostgreSQL",
  examples: [
    ["cli daemon stop", "stop everything that runs for this home"],
    ["cli daemon stop --json", "also return its process id, for a program"],
  ],
  parameters: NO_QUESTION,
  run: async (ctx) => {
    const result = await stopDaemon(ctx);
    return result.stopped && !result.killed ? result : { ...result, postgres_pid: await stopLeft(ctx) };
  },
  render: ({ killed, pid, postgres_pid: left, stopped }, out) => {
    const postgres = left === null ? "" : ` Its PostgreSQL (process ${left}) has stopped.`;
    if (killed) out.line(`The daemon (process ${pid}) did not answer and was killed.${postgres}`);
    else if (stopped) out.line(`The daemon (process ${pid}) and its PostgreSQL have stopped.`);
    else if (left === null) out.line("No daemon runs.");
    else out.line(`No daemon runs. The PostgreSQL that a killed daemon left (process ${left}) has stopped.`);
  },
});

/** Its code is loaded only where no daemon runs. */
async function stopLeft({ config }: Pick<Context, "config">): Promise<number | null> {
  const { stopLeftPostgres } = await import("@appdb/postgres/homes/stop-left");
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  return (
    (await stopLeftPostgres({ home: config.home, runtime_base: config.daemon_env["XDG_RUNTIME_DIR"], log })) ?? null
  );
}

function ignore(): void {}

/** Stops the home's daemon and waits for its end. @throws daemon_failed, daemon_busy when it does not end */
export async function stopDaemon(ctx: Pick<Context, "daemon" | "out" | "signal">): Promise<StopResult> {
  const found = await findOrHung(ctx);
  if (found === undefined) return { stopped: false, pid: null, killed: false, postgres_pid: null };
  if (found instanceof AppError) {
    const pid = Number(found.meta["pid"]);
    ctx.out.note(`${found.message} It gets time to end, and is then killed.`);
    const signal = await ctx.daemon.endHung(pid);
    return { stopped: true, pid, killed: signal === "SIGKILL", postgres_pid: null };
  }
  await found.client.call("stop", {}, { signal: ctx.signal });
  await ctx.daemon.waitUntilGone(found.file.pid);
  return { stopped: true, pid: found.file.pid, killed: false, postgres_pid: null };
}
