import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { LocalTarget } from "@appdb/contract/names";
import { nearestName } from "@appdb/contract/nearest";
import type { Context } from "../../context.ts";
import { withHostedMedia } from "../hosted-media.ts";
import { readBoth } from "../read-both.ts";
import type { ServiceTarget, ServiceTargetInput } from "./service-target.ts";

/**
 * Opens a local database: the file is read here, and the daemon manages the services.
 * @throws usage for one port and several services
 */
export async function openLocalServices(
  ctx: Pick<Context, "config" | "control" | "daemon" | "readApplication" | "signal">,
  input: ServiceTargetInput,
  { text: target }: LocalTarget,
): Promise<ServiceTarget> {
  const [read, client] = await readBoth(ctx, input);
  const { manifest, runtime } = await withHostedMedia(ctx, read);
  const { signal } = ctx;
  const app = { target, manifest, runtime };
  const request = { ...app, service: input.service ?? null, port: input.port ?? null };
  return {
    plan: async () => {
      const chosen = chooseLocalServices(manifest, input.service);
      if (input.port !== undefined && chosen.length > 1) {
        throw appError("usage", {
          detail: `--port is for one service, and ${manifest.app_file} defines ${chosen.length}: ${chosen.join(", ")}.`,
          hint: `Name one of them, for example: cli service update ${input.file} ${target} ${chosen[0]} --port ${input.port}`,
        });
      }
      return (await client.call("servicePlan", { body: request }, { signal })).plan;
    },
    apply: async ({ allow_destructive: allowDestructive, onProgress }) => {
      const body = { ...request, allow_destructive: allowDestructive };
      return (await client.call("serviceApply", { body }, { signal, onProgress })).plan;
    },
    prune: async (dryRun) =>
      (await client.call("servicePrune", { body: { ...app, dry_run: dryRun } }, { signal })).plan,
  };
}

/** Names of a command's services: the named one, otherwise all of the file. @throws service_not_found */
export function chooseLocalServices(manifest: Manifest, named: string | undefined): string[] {
  const defined = manifest.services.map((service) => service.name);
  if (named === undefined) {
    if (defined.length > 0) return defined;
    throw appError("service_not_found", {
      detail: `${manifest.app_file} defines no service.`,
      hint: "Add one: ingest = Router(), then ingest.add_insert_route(...)",
      meta: { app_file: manifest.app_file },
    });
  }
  if (defined.includes(named)) return [named];
  const suggestion = nearestName(named, defined);
  throw appError("service_not_found", {
    detail: `${manifest.app_file} does not define the service '${named}'; it defines ${defined.join(", ") || "none"}.`,
    hint: suggestion === undefined ? "Use one of these names." : `Did you mean: ${suggestion}`,
    meta: { service: named, defined },
  });
}
