import { type HostedTarget, parseTarget, type Target } from "@appdb/contract/names";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { printService } from "../../output/service-text.ts";
import { text } from "../parameters.ts";
import type { AnyService } from "./change-service.ts";

interface ServiceList {
  readonly services: readonly AnyService[];
}

/** Tools read `--json`: name, endpoint, state and routes of each service. */
export const list = defineCommand<JsonFlag, [target?: string], ServiceList>({
  brief: "Show services, addresses and routes",
  examples: [
    ["cli service list", "the services of every local database"],
    ["cli service list main --json", "services of main, for a program"],
    ["cli service list main/ingest", "one service"],
    ["cli service list cloud://acme:main", "services of a hosted database"],
    ["cli service list cloud://acme:main/ingest", "one of them, or all in a folder of that name"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        { brief: "The database; defaults to all local ones", placeholder: "TARGET", parse: text, optional: true },
      ],
    },
  },
  run: async (ctx, { json }, typed) => {
    const target = typed === undefined ? undefined : parseTarget(typed);
    const services =
      target?.kind === "hosted"
        ? await listHosted(ctx, target)
        : (
            await (
              await ctx.daemon.ensure()
            ).call("serviceList", { query: { target: target?.text } }, { signal: ctx.signal })
          ).services;
    if (services.length === 0 && !json) ctx.out.line(noServices(target));
    return { services };
  },
  render: ({ services }, out) => {
    for (const service of services) printService(service, out);
  },
});

function noServices(target: Target | undefined): string {
  const database = target?.kind === "hosted" ? target.uri.text : (target?.database ?? "main");
  if (target !== undefined && target.folders.length > 0) {
    return `No service named ${target.text}, and none below it. See all: ${commandLine(["service", "list", database])}`;
  }
  return `There are no services. Start some: ${commandLine(["service", "update", "app.py", database])}`;
}

async function listHosted(ctx: Pick<Context, "control" | "signal">, target: HostedTarget): Promise<AnyService[]> {
  const { listHostedServices: listServices } = await import("./hosted-services.ts");
  const { database, organization } = target.uri;
  const control = await (await ctx.control()).open();
  const services = await listServices(control, { org: organization, db: database }, ctx.signal);
  const path = target.folders.join("/");
  return services.filter(({ name }) => path === "" || name === path || name.startsWith(`${path}/`));
}
