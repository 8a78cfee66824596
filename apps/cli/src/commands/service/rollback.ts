import type { HostedService } from "@appdb/contract/routes/control-services";
import { confirm } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { printService } from "../../output/service-text.ts";
import { commandLine, FORCE_FLAG, HOSTED_SERVICE, parseCount } from "../parameters.ts";
import { hostedAddress, requireHostedService, waitForChange } from "./change-service.ts";

interface Flags extends JsonFlag {
  readonly force: boolean;
  readonly to?: number;
}

/** The tables stay as they are; a release that needs others is refused with what to do. */
export const rollback = defineCommand<Flags, [name: string], HostedService>({
  brief: "Go back to a former release of a hosted service, without refusing a request",
  examples: [
    ["cli service rollback cloud://acme:main/ingest", "to the release before"],
    ["cli service rollback cloud://acme:main/ingest --to 3 -f", "to this one, without asking"],
  ],
  parameters: {
    positional: HOSTED_SERVICE,
    flags: {
      force: FORCE_FLAG,
      to: {
        kind: "parsed",
        parse: parseCount,
        optional: true,
        brief: "The release; the one before when left out",
        placeholder: "number",
      },
    },
    aliases: { f: "force" },
  },
  run: async (ctx, { force, to }, typed) => {
    const address = requireHostedService(typed, "rollback");
    const control = await (await ctx.control()).open();
    const { params } = hostedAddress(address);
    await confirm(ctx, {
      question: `Have ${address.text} run ${to === undefined ? "its former release" : `release ${to}`} again?`,
      force,
      again: commandLine([
        ...["service", "rollback", address.text],
        ...(to === undefined ? [] : ["--to", String(to)]),
        "-f",
      ]),
    });
    const body = { release: to ?? null };
    const asked = await control.client.call("serviceRollback", { params, body }, { signal: ctx.signal });
    if (asked.operation === null) return asked.service;
    await waitForChange(ctx, control, { org: params.org, id: asked.operation.id });
    return await control.client.call("serviceShow", { params }, { signal: ctx.signal });
  },
  render: printService,
});
