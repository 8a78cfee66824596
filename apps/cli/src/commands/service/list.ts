import { serviceText } from "@appdb/contract/names";
import type { ServiceRecord } from "@appdb/contract/routes/local";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import type { Output } from "../../output/output.ts";
import { requireLocal, text } from "../parameters.ts";

interface ServiceList {
  readonly services: readonly ServiceRecord[];
}

/** `--json` is read by tools: name, catalog_path, endpoint, state and routes of each service. */
export const list = defineCommand<JsonFlag, [target?: string], ServiceList>({
  brief: "Show services, addresses and routes",
  examples: [
    ["cli service list", "the services of every local database"],
    ["cli service list main --json", "those of main, for a program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        { brief: "The database; all of them when left out", placeholder: "TARGET", parse: text, optional: true },
      ],
    },
  },
  run: async (ctx, _flags, target) => {
    const local = target === undefined ? undefined : requireLocal(target, "service list");
    const client = await ctx.daemon.ensure();
    return { services: await client.serviceList(local?.text, { signal: ctx.signal }) };
  },
  render: ({ services }, out) => {
    if (services.length === 0) out.line("There are no services. Start some: cli service update app.py main");
    for (const service of services) printService(service, out);
  },
});

/** `main/ingest  http://127.0.0.1:42697  AVAILABLE  pid 7920  app.py`, its error, its routes. */
export function printService(service: ServiceRecord, out: Output): void {
  const pid = service.pid === null ? [] : [`pid ${service.pid}`];
  out.line([serviceText(service), service.endpoint ?? "-", service.state, ...pid, service.app_file].join("  "));
  if (service.error !== null) out.line(`    error: ${service.error.trimEnd().replaceAll("\n", "\n    ")}`);
  const routes = service.routes.map((route) => [
    route.method.toUpperCase(),
    route.path,
    route.route_type,
    `in: ${route.inputs.join(", ") || "-"}`,
    `out: ${route.outputs.join(", ") || "-"}`,
  ]);
  for (const line of alignColumns(routes)) out.line(`    ${line}`);
}
