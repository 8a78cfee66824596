import * as z from "zod";
import { opSchema } from "../plan.ts";
import { databasePlanRequestSchema } from "./control-databases.ts";

/** Bodies of deployment routes (control-service-paths.ts). Times are ISO 8601 in UTC. */
const time = z.iso.datetime();

/** `rolling_back`: a rollback was started; the next one continues it. */
export const DEPLOY_STATES = ["running", "done", "failed", "rolling_back", "rolled_back"] as const;

export const deploySchema = z.object({
  id: z.string(),
  app_file: z.string(),
  state: z.enum(DEPLOY_STATES),
  created_at: time,
  created_by: z.string(),
  /** Null while it runs, and for an abandoned one. */
  ended_at: time.nullable(),
});
export type Deploy = z.infer<typeof deploySchema>;

export const deployBeginRequestSchema = z.strictObject({ app_file: z.string().max(1_000) });
export const deployEndRequestSchema = z.strictObject({ state: z.enum(["done", "failed"]) });

/** Maximum unfinished preparations per database: `overloaded` above it. */
export const MAX_PREPARATIONS = 4;

/** The files and settings to prepare, and the application file to plan for. */
export const preparationRequestSchema = z.strictObject({
  ...databasePlanRequestSchema.shape,
  app_file: z.string().max(1_000),
});
export type PreparationRequest = z.input<typeof preparationRequestSchema>;

/** After its operation has succeeded, tables and services can be planned with it for a day. */
export const preparationSchema = z.object({
  id: z.string(),
  operation: z.object({ id: z.string(), kind: z.string() }),
});
export type Preparation = z.infer<typeof preparationSchema>;

/** The effect of undoing the last deployment. Tables stay unchanged, and `ops` does not include them. */
export const deployRollbackPlanSchema = z.object({
  deploy: deploySchema,
  /** In execution order: services first, whose previous releases run with their own files and image. */
  ops: z.array(opSchema),
});
export type DeployRollbackPlan = z.infer<typeof deployRollbackPlanSchema>;

export const deployRollbackRequestSchema = z.strictObject({
  /** The planned deployment. */
  deploy: z.uuid(),
});

/** Started operations; more may follow after they have ended. None when everything is undone. */
export const deployRollbackAnswerSchema = z.object({
  deploy: deploySchema,
  operations: z.array(z.object({ id: z.string(), kind: z.string(), target: z.string() })),
});
