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
  /** For a hosted database: whether to compare the local files or the database's. */
  readonly files: "here" | "there";
  /** A prepared basis that replaces `files` for the plan. */
  readonly preparation?: string | undefined;
  readonly json: boolean;
}

export interface SchemaChange {
  readonly allow_destructive: boolean;
  readonly recompute: boolean;
  readonly on_error: OnError;
  /** For a local database: also change tables of another project, which then belong to the caller's. */
  readonly take_over?: boolean;
}

/** The tables that an application file is compared with, local or hosted. */
export interface SchemaTarget {
  /** Ends the sentence "The work continues in ...". */
  readonly worker: string;
  plan(options: Pick<SchemaChange, "recompute" | "take_over">): Promise<SchemaPlan>;
  /** Applies the plan for this catalog version. @throws catalog_moved */
  apply(catalogVersion: number, change: SchemaChange, onProgress: (progress: Progress) => void): Promise<SchemaPlan>;
}

/**
 * Opens a command's target, so that later code need not distinguish local and hosted ones.
 * @throws invalid_target, and errors of reading the application or the project
 */
export async function openSchemaTarget(ctx: Context, input: SchemaTargetInput): Promise<SchemaTarget> {
  const target = parseTarget(input.target);
  if (target.kind === "local") return (await import("./local-schema.ts")).openLocalSchema(ctx, input, target);
  return (await import("./hosted-schema.ts")).openHostedSchema(ctx, input, target);
}

/** What a plan does while people wait for it. */
export function planning(target: string): string {
  return `comparing with the tables of ${target}, and computing sample rows of changed columns`;
}
