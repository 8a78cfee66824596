import { parseTarget } from "@appdb/contract/names";
import type { ServicePlan } from "@appdb/contract/plan";
import type { Progress } from "@appdb/contract/routes/local";
import type { Context } from "../../context.ts";

export interface ServiceTargetInput {
  /** As typed. */
  readonly file: string;
  readonly target: string;
  /** One service of the file; defaults to all. */
  readonly service?: string | undefined;
  readonly port?: number | undefined;
  readonly python: string | undefined;
  /** For a hosted database: whether to plan with the local files, without applying, or with the database's. */
  readonly files?: "here" | "there";
  /** A prepared basis that replaces `files` for the plan. */
  readonly preparation?: string | undefined;
}

/** The services that an application file is compared with, local or hosted. */
export interface ServiceTarget {
  /** @throws service_not_found when the file does not define the named one */
  plan(): Promise<ServicePlan>;
  /**
   * Applies the last plan and resolves when each of its services is available.
   * @throws destructive_refused, schema_mismatch, generation_moved, service_failed
   */
  apply(change: ServiceUpdateOptions): Promise<ServicePlan>;
  /** Stops and removes the target's services that the file does not define; a dry run only lists them. */
  prune(dryRun: boolean): Promise<ServicePlan>;
}

export interface ServiceUpdateOptions {
  readonly allow_destructive: boolean;
  readonly onProgress: (progress: Progress) => void;
}

/**
 * Opens a command's target, so that later code need not distinguish local and hosted ones.
 * @throws invalid_target, usage, and errors of reading the application or the project
 */
export async function openServiceTarget(ctx: Context, input: ServiceTargetInput): Promise<ServiceTarget> {
  const target = parseTarget(input.target);
  if (target.kind === "local") return (await import("./local-services.ts")).openLocalServices(ctx, input, target);
  return (await import("./hosted-services.ts")).openHostedServices(ctx, input, target);
}
