import type { ServiceRecord } from "@appdb/contract/routes/local";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { NAMES } from "../parameters.ts";
import { printService } from "./list.ts";
import { eachService } from "./stop.ts";

/** With the files as they are now, and the environment of the last `service update`. Exit 1 when one does not come up. */
export const restart = defineCommand<JsonFlag, string[], ServiceRecord[]>({
  brief: "Restart services on the ports that they have",
  examples: [
    ["cli service restart main/ingest", "one service"],
    ["cli service restart main/ingest --json", "its record afterwards, for a program"],
  ],
  parameters: { positional: NAMES },
  run: async (ctx, _flags, ...names) =>
    await eachService(ctx, names, "service restart", (client, name) =>
      client.serviceRestart(name, { signal: ctx.signal }),
    ),
  render: (services, out) => {
    for (const service of services) printService(service, out);
  },
  exitCode: (services) => (services.some((service) => service.state === "FAILED") ? EXIT.failed : EXIT.done),
});
