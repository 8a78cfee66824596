import { parseTarget } from "@appdb/contract/names";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { printService } from "../../output/service-text.ts";
import { commandLine, text } from "../parameters.ts";
import type { AnyService } from "./change-service.ts";

interface ServiceList {
  readonly services: readonly AnyService[];
}

/** `--json` is read by tools: name, endpoint, state and routes of each service. */
export const list = defineCommand<JsonFlag, [target?: string], ServiceList>({
  brief: "Show services, addresses and routes",
  examples: [
    ["cli service list", "the services of every local database"],
    ["cli service list main --json", "those of main, for a program"],
    ["cli service list cloud://acme:main", "those of a hosted database"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        { brief: "The database; all local ones when left out", placeholder: "TARGET", parse: text, optional: true },
      ],
    },
  },
  run: async (ctx, { json }, typed) => {
    const target = typed === undefined ? undefined : parseTarget(typed);
    const services =
      target?.kind === "hosted"
        ? await listHosted(ctx, target)
        : await (await ctx.daemon.ensure()).serviceList(target?.text, { signal: ctx.signal });
    if (services.length === 0 && !json) {
      const update = commandLine(["service", "update", "app.py", target?.text ?? "main"]);
      ctx.out.line(`There are no services. Start some: ${update}`);
    }
    return { services };
  },
  render: ({ services }, out) => {
    for (const service of services) printService(service, out);
  },
});

async function listHosted(
  ctx: Pick<Context, "control" | "signal">,
  target: Extract<ReturnType<typeof parseTarget>, { kind: "hosted" }>,
): Promise<AnyService[]> {
  const { listServices } = await import("./hosted-services.ts");
  const { database, organization } = target.uri;
  const control = await (await ctx.control()).open();
  const services = await listServices(control, { org: organization, db: database }, ctx.signal);
  const folder = target.folders.map((name) => `${name}/`).join("");
  return services.filter(({ name }) => name.startsWith(folder));
}
