import * as z from "zod";
import { opSchema } from "../plan.ts";
import { databasePlanRequestSchema } from "./control-databases.ts";

/** Bodies of what concerns deployments (control-service-paths.ts). Times are ISO 8601 in UTC. */
const time = z.iso.datetime();

/** `rolling_back`: a rollback of it was begun, and is gone on with by the next one. */
export const DEPLOY_STATES = ["running", "done", "failed", "rolling_back", "rolled_back"] as const;

export const deploySchema = z.object({
  id: z.string(),
  app_file: z.string(),
  state: z.enum(DEPLOY_STATES),
  created_at: time,
  created_by: z.string(),
  /** Null while it runs, and of one that was cut. */
  ended_at: time.nullable(),
});
export type Deploy = z.infer<typeof deploySchema>;

export const deployBeginRequestSchema = z.strictObject({ app_file: z.string().max(1_000) });
export const deployEndRequestSchema = z.strictObject({ state: z.enum(["done", "failed"]) });

/** Of a database, that have not ended: `overloaded` for more. */
export const MAX_PREPARATIONS = 4;

/** What a database is to be updated to, and the application file that is to be planned for by it. */
export const preparationRequestSchema = z.strictObject({
  ...databasePlanRequestSchema.shape,
  app_file: z.string().max(1_000),
});
export type PreparationRequest = z.input<typeof preparationRequestSchema>;

/** Once its operation has succeeded, tables and services are planned by it, for a day. */
export const preparationSchema = z.object({
  id: z.string(),
  operation: z.object({ id: z.string(), kind: z.string() }),
});
export type Preparation = z.infer<typeof preparationSchema>;

/** What undoing the last deployment would do; tables stay as they are, and nothing of `ops` concerns them. */
export const deployRollbackPlanSchema = z.object({
  deploy: deploySchema,
  /** In the order in which it is done: services first, whose former releases run with their own files and image. */
  ops: z.array(opSchema),
});
export type DeployRollbackPlan = z.infer<typeof deployRollbackPlanSchema>;

export const deployRollbackRequestSchema = z.strictObject({
  /** The one that was planned for. */
  deploy: z.uuid(),
});

/** Operations that were begun; there may be more to do once they have ended. None when all is undone. */
export const deployRollbackAnswerSchema = z.object({
  deploy: deploySchema,
  operations: z.array(z.object({ id: z.string(), kind: z.string(), target: z.string() })),
});
