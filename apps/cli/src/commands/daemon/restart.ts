import { requireSpace } from "../../daemon/daemon-files.ts";
import { defineCommand } from "../../define-command.ts";
import { type Forced, NO_QUESTION } from "./no-question.ts";
import { type DaemonStatus, describeDaemon, printDaemon } from "./status.ts";
import { stopDaemon } from "./stop.ts";

/** Services that were running start again. The new daemon ends the PostgreSQL of one that was killed. */
export const restart = defineCommand<Forced, [], DaemonStatus>({
  brief: "Restart the daemon with its services",
  examples: [
    ["cli daemon restart", "after an upgrade, or to read new settings"],
    ["cli daemon restart --json", "the new process, for a program"],
  ],
  parameters: NO_QUESTION,
  run: async (ctx) => {
    // without space the next daemon cannot start, so this one stays
    requireSpace(ctx.config.home);
    const { killed, pid } = await stopDaemon(ctx);
    if (killed) ctx.out.note(`The daemon (process ${pid}) did not answer and was killed.`);
    await ctx.daemon.ensure();
    return describeDaemon(ctx, await ctx.daemon.find());
  },
  render: printDaemon,
});
