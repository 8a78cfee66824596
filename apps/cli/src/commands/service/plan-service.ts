import type { LocalClient, ServicePlanRequest } from "@appdb/contract/client";
import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { LocalTarget } from "@appdb/contract/names";
import { nearestName } from "@appdb/contract/nearest";
import type { ServicePlan } from "@appdb/contract/plan";
import type { Context } from "../../context.ts";
import { readBoth } from "../read-both.ts";

export interface PlannedServices {
  readonly plan: ServicePlan;
  /** The request that was planned; apply sends the same. */
  readonly request: ServicePlanRequest;
  readonly client: LocalClient;
}

/** Reads the application and asks the daemon what an update would do to the target's services.
 *  @throws service_not_found when the file does not define `service` */
export async function planServices(
  ctx: Pick<Context, "readApplication" | "daemon" | "signal">,
  input: {
    readonly file: string;
    readonly target: LocalTarget;
    readonly service: string | undefined;
    readonly port: number | undefined;
    readonly python: string | undefined;
  },
): Promise<PlannedServices> {
  const [app, client] = await readBoth(ctx, input);
  const chosen = chooseServices(app.manifest, input.service);
  if (input.port !== undefined && chosen.length > 1) {
    throw appError("usage", {
      detail: `--port is for one service, and ${app.manifest.app_file} defines ${chosen.length}: ${chosen.join(", ")}.`,
      hint: `Name one of them, for example: cli service update ${input.file} ${input.target.text} ${chosen[0]} --port ${input.port}`,
    });
  }
  const request: ServicePlanRequest = {
    target: input.target.text,
    manifest: app.manifest,
    runtime: app.runtime,
    service: input.service ?? null,
    port: input.port ?? null,
  };
  return { plan: await client.servicePlan(request, { signal: ctx.signal }), request, client };
}

/** The names of the services that a command is about: the one that was named, else all of the file.
 *  @throws service_not_found */
export function chooseServices(manifest: Manifest, named: string | undefined): string[] {
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
  const near = nearestName(named, defined);
  throw appError("service_not_found", {
    detail: `${manifest.app_file} does not define the service '${named}'; it defines ${defined.join(", ") || "none"}.`,
    hint: near === undefined ? "Use one of these names." : `Did you mean: ${near}`,
    meta: { service: named, defined },
  });
}
