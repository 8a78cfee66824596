import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { type DaemonStatus, describeDaemon, printDaemon } from "./status.ts";

export const start = defineCommand<JsonFlag, [], DaemonStatus>({
  brief: "Start the daemon if it does not run; other commands start it automatically",
  examples: [
    ["cli daemon start", "start it, or report that it is running"],
    ["SERVICE_HOME=/data/home cli daemon start", "for another home"],
  ],
  parameters: {},
  run: async (ctx) => {
    await ctx.daemon.ensure();
    return describeDaemon(ctx, await ctx.daemon.find());
  },
  render: printDaemon,
});
