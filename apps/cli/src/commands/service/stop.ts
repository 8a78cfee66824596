import { parseServiceName, serviceText } from "@appdb/contract/names";
import type { ServiceRecord } from "@appdb/contract/routes/local";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { NAMES, requireLocal } from "../parameters.ts";

/** They stay stopped until the next `service restart` or `service update`, also after a restart of the daemon. */
export const stop = defineCommand<JsonFlag, string[], ServiceRecord[]>({
  brief: "Stop services; their ports stay theirs",
  examples: [
    ["cli service stop main/ingest", "one service"],
    ["cli service stop main/ingest main/admin", "two"],
  ],
  parameters: { positional: NAMES },
  run: async (ctx, _flags, ...names) =>
    await eachService(ctx, names, "service stop", (client, name) => client.serviceStop(name, { signal: ctx.signal })),
  render: (services, out) => {
    for (const service of services) out.line(`stopped  ${serviceText(service)}`);
  },
});

/** Does something to each named service, in order; all names are read before the first is touched.
 *  @throws invalid_target, hosted_not_available, service_not_found */
export async function eachService(
  ctx: Pick<Context, "daemon">,
  names: readonly string[],
  command: string,
  work: (client: Awaited<ReturnType<Context["daemon"]["ensure"]>>, name: string) => Promise<ServiceRecord>,
): Promise<ServiceRecord[]> {
  const parsed = names.map((name) => {
    const address = parseServiceName(name);
    requireLocal(address.target.text, command);
    return address.text;
  });
  const client = await ctx.daemon.ensure();
  const services: ServiceRecord[] = [];
  for (const name of parsed) services.push(await work(client, name));
  return services;
}
