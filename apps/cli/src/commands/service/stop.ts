import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { nameOfService } from "../../output/service-text.ts";
import { NAMES } from "../parameters.ts";
import { type AnyService, changeServices } from "./change-service.ts";

/**
 * They stay stopped until the next `service restart` or `service update`, even when the daemon or their database
 * restarts.
 */
export const stop = defineCommand<JsonFlag, string[], AnyService[]>({
  brief: "Stop services; they keep their addresses",
  examples: [
    ["cli service stop main/ingest", "one service"],
    ["cli service stop main/ingest main/admin", "two"],
    ["cli service stop cloud://acme:main/ingest", "a service of a hosted database"],
  ],
  parameters: { positional: NAMES },
  run: async (ctx, _flags, ...names) =>
    await changeServices(ctx, names, {
      local: (client, name) => client.call("serviceStop", { body: { name } }, { signal: ctx.signal }),
      hosted: "serviceStop",
    }),
  render: (services, out) => {
    for (const service of services) out.line(`stopped  ${nameOfService(service)}`);
  },
});
