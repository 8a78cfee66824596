import type { ManifestRoute } from "@appdb/contract/manifest";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { count } from "../../output/count.ts";
import { FILE, PYTHON_FLAG } from "../parameters.ts";
import { chooseLocalServices } from "./local-services.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
}

interface CheckedServices {
  readonly file: string;
  readonly valid: true;
  readonly services: readonly {
    readonly name: string;
    readonly prefix: string;
    readonly routes: readonly ManifestRoute[];
  }[];
}

export const check = defineCommand<Flags, [file: string], CheckedServices>({
  brief: "Check the file's services and routes; no database is needed",
  examples: [
    ["cli service check app.py", "report errors in the routes of app.py"],
    ["cli service check app.py --json", "services and routes, for a program"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE] },
    flags: { python: PYTHON_FLAG },
  },
  run: async (ctx, flags, file) => {
    const { manifest } = await ctx.readApplication({ file, python: flags.python });
    chooseLocalServices(manifest, undefined);
    const services = manifest.services.map(({ name, prefix, routes }) => ({ name, prefix, routes }));
    return { file: manifest.app_file, valid: true, services };
  },
  render: (checked, out) => {
    out.line(`${checked.file} is valid: ${count(checked.services.length, "service")}`);
    for (const service of checked.services) {
      out.line(`    ${service.name}  ${count(service.routes.length, "route")}`);
      const rows = service.routes.map((route) => [
        route.method.toUpperCase(),
        service.prefix + route.path,
        route.kind,
        workOf(route),
      ]);
      for (const line of alignColumns(rows)) out.line(`        ${line}`);
    }
  },
});

/** The table, query or function of a route; empty without one. */
function workOf(route: ManifestRoute): string {
  if ("table" in route) return route.table;
  if ("query" in route) return route.query.split(":").at(-1) ?? route.query;
  return "handler" in route ? route.handler.name : "";
}
