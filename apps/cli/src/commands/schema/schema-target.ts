import type { OnError } from "@appdb/contract/jobs";
import { parseTarget } from "@appdb/contract/names";
import type { SchemaPlan } from "@appdb/contract/plan";
import type { Progress } from "@appdb/contract/routes/local";
import type { Context } from "../../context.ts";

export interface SchemaTargetInput {
  /** As typed. */
  readonly file: string;
  readonly target: string;
  readonly python: string | undefined;
  /** Of a hosted database: whether the files are compared as they are here, or as the database has them. */
  readonly files: "here" | "there";
  /** What was prepared of them, by which the plan is made in place of `files`. */
  readonly preparation?: string | undefined;
  readonly json: boolean;
}

export interface SchemaChange {
  readonly allow_destructive: boolean;
  readonly recompute: boolean;
  readonly on_error: OnError;
  /** Of a local database: change tables of another project too, which become the caller's. */
  readonly take_over?: boolean;
}

/** The tables that an application file is compared with, by whichever way they are reached. */
export interface SchemaTarget {
  /** Ends the sentence "what had begun goes on in ...". */
  readonly worker: string;
  plan(options: Pick<SchemaChange, "recompute" | "take_over">): Promise<SchemaPlan>;
  /** Applies the plan that was made against this version of the catalog. @throws catalog_moved */
  apply(catalogVersion: number, change: SchemaChange, onProgress: (progress: Progress) => void): Promise<SchemaPlan>;
}

/** Opens what a command names: nothing that follows asks whether it is local or hosted.
 *  @throws invalid_target, and what reading the application or the project throws */
export async function openSchemaTarget(ctx: Context, input: SchemaTargetInput): Promise<SchemaTarget> {
  const target = parseTarget(input.target);
  if (target.kind === "local") return (await import("./local-schema.ts")).openLocalSchema(ctx, input, target);
  return (await import("./hosted-schema.ts")).openHostedSchema(ctx, input, target);
}
