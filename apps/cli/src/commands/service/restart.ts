import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { printService } from "../../output/service-text.ts";
import { NAMES } from "../parameters.ts";
import { type AnyService, changeServices } from "./change-service.ts";

/**
 * A local service restarts with the current files and the environment of the last `service update`. A hosted one
 * restarts its release with new secrets and without refusing a request. Exits with 1 when one does not start.
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
