import { parseTarget } from "@appdb/contract/names";
import type { ServicePlan } from "@appdb/contract/plan";
import type { Progress } from "@appdb/contract/routes/local";
import type { Context } from "../../context.ts";

export interface ServiceTargetInput {
  /** As typed. */
  readonly file: string;
  readonly target: string;
  /** One service of the file; all of them when left out. */
  readonly service?: string | undefined;
  readonly port?: number | undefined;
  readonly python: string | undefined;
  /** Of a hosted database: whether what would come of the files here is planned, which nothing applies; of its own files otherwise. */
  readonly files?: "here" | "there";
  /** What was prepared of them, by which the plan is made in place of `files`. */
  readonly preparation?: string | undefined;
}

/** The services that an application file is compared with, by whichever way they are reached. */
export interface ServiceTarget {
  /** @throws service_not_found when the file does not define the named one */
  plan(): Promise<ServicePlan>;
  /** Applies what was planned last, and resolves when each service that it names serves.
   *  @throws destructive_refused, schema_mismatch, generation_moved, service_failed */
  apply(change: ServiceUpdateOptions): Promise<ServicePlan>;
  /** Stops and forgets the target's services that the file does not define; a dry run only names them. */
  prune(dryRun: boolean): Promise<ServicePlan>;
}

export interface ServiceUpdateOptions {
  readonly allow_destructive: boolean;
  readonly onProgress: (progress: Progress) => void;
}

/** Opens what a command names: nothing that follows asks whether it is local or hosted.
 *  @throws invalid_target, usage, and what reading the application or the project throws */
export async function openServiceTarget(ctx: Context, input: ServiceTargetInput): Promise<ServiceTarget> {
  const target = parseTarget(input.target);
  if (target.kind === "local") return (await import("./local-services.ts")).openLocalServices(ctx, input, target);
  return (await import("./hosted-services.ts")).openHostedServices(ctx, input, target);
}
