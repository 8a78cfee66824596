import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { FORCE_FLAG } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly force: boolean;
}

interface StopResult {
  /** False when none ran. */
  readonly stopped: boolean;
  readonly pid: number | null;
}

/** Returns when the process is gone, and PostgreSQL with it. */
export const stop = defineCommand<Flags, [], StopResult>({
  brief: "Stop the daemon, its services and its PostgreSQL",
  examples: [
    ["cli daemon stop", "stop all that runs for this home"],
    ["cli daemon stop --json", "say which process it was, for a program"],
  ],
  parameters: {
    flags: { force: { ...FORCE_FLAG, brief: "Accepted for scripts: the command never asks" } },
    aliases: { f: "force" },
  },
  run: (ctx) => stopDaemon(ctx),
  render: (result, out) => {
    out.line(
      result.stopped ? `The daemon (process ${result.pid}) and its PostgreSQL have stopped.` : "No daemon runs.",
    );
  },
});

/** Stops the home's daemon and waits for its end. @throws daemon_failed when it does not end */
export async function stopDaemon(ctx: Pick<Context, "daemon" | "signal">): Promise<StopResult> {
  const found = await ctx.daemon.find();
  if (found === undefined) return { stopped: false, pid: null };
  await found.client.stop({ signal: ctx.signal });
  await ctx.daemon.waitUntilGone(found.file.pid);
  return { stopped: true, pid: found.file.pid };
}
