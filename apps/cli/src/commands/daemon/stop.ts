import type { Context } from "../../context.ts";
import { defineCommand } from "../../define-command.ts";
import { type Forced, NO_QUESTION } from "./no-question.ts";

interface StopResult {
  /** False when no daemon was running. */
  readonly stopped: boolean;
  readonly pid: number | null;
}

/** Returns after the process and PostgreSQL have ended. */
export const stop = defineCommand<Forced, [], StopResult>({
  brief: "Stop the daemon, its services and its PostgreSQL",
  examples: [
    ["cli daemon stop", "stop everything that runs for this home"],
    ["cli daemon stop --json", "also return its process id, for a program"],
  ],
  parameters: NO_QUESTION,
  run: async (ctx) => await stopDaemon(ctx),
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
  await found.client.call("stop", {}, { signal: ctx.signal });
  await ctx.daemon.waitUntilGone(found.file.pid);
  return { stopped: true, pid: found.file.pid };
}
