import type { HostedService } from "@appdb/contract/routes/control-services";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { printService } from "../../output/service-text.ts";
import { HOSTED_SERVICE } from "../parameters.ts";
import { changeHosted, requireHostedService } from "./change-service.ts";

export const retry = defineCommand<JsonFlag, [name: string], HostedService>({
  brief: "Retry a hosted service that FAILED",
  examples: [
    ["cli service retry cloud://acme:main/ingest", "start it again and wait for it"],
    ["cli service retry cloud://acme:main/ingest --json", "its record afterwards, for a program"],
  ],
  parameters: { positional: HOSTED_SERVICE },
  run: async (ctx, _flags, typed) => await changeHosted(ctx, requireHostedService(typed, "retry"), "serviceRetry"),
  render: printService,
});
