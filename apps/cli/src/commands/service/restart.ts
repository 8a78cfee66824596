import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { printService } from "../../output/service-text.ts";
import { NAMES } from "../parameters.ts";
import { type AnyService, changeServices } from "./change-service.ts";

/**
 * A local one with the files as they are now, and the environment of the last `service update`; a hosted one with the release that it
 * has, its secrets read anew, and without refusing a request. Exit 1 when one does not come up.
 */
export const restart = defineCommand<JsonFlag, string[], AnyService[]>({
  brief: "Restart services; hosted ones read new secrets",
  examples: [
    ["cli service restart main/ingest", "one service"],
    ["cli service restart main/ingest --json", "its record afterwards, for a program"],
    ["cli service restart cloud://acme:main/ingest", "after cli secret set, for example"],
  ],
  parameters: { positional: NAMES },
  run: async (ctx, _flags, ...names) =>
    await changeServices(ctx, names, {
      local: (client, name) => client.call("serviceRestart", { body: { name } }, { signal: ctx.signal }),
      hosted: "serviceRestart",
    }),
  render: (services, out) => {
    for (const service of services) printService(service, out);
  },
  exitCode: (services) => (services.some((service) => service.state === "FAILED") ? EXIT.failed : EXIT.done),
});
