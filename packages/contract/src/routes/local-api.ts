import * as z from "zod";
import { jobRecordSchema, recomputePlanSchema, recomputeResultSchema, tableErrorsSchema } from "../jobs.ts";
import { schemaPlanSchema, servicePlanSchema } from "../plan.ts";
import { limitSchema } from "../service-limits.ts";
import { defineApi } from "./api.ts";
import { MAX_ERRORS } from "./control-work.ts";
import { DATA_SCHEMAS } from "./data-api.ts";
import { WRITE_SCHEMAS } from "./data-writes.ts";
import * as local from "./local.ts";
import { LOCAL_ROUTES } from "./local-paths.ts";
import { MEDIA_SCHEMAS } from "./media-files.ts";
import { PSQL_SCHEMAS } from "./psql.ts";
import { TABLE_CHANGE_SCHEMAS } from "./table-changes.ts";

/** Maximum number of initial log lines in a response. */
const MAX_LINES = 100_000;

const yesOrNo = z.enum(["0", "1"]).default("0");
/** A service by its target and its name: `main/ingest`. */
const named = z.strictObject({ name: z.string() });
const tablePlanned = z.object({ plan: schemaPlanSchema });
const servicePlanned = z.object({ plan: servicePlanSchema });

/** The input and output of each daemon route. */
export const LOCAL_API = defineApi(LOCAL_ROUTES, {
  health: { answer: local.healthSchema },
  limitList: { answer: z.object({ limits: z.array(limitSchema) }) },
  schemaPlan: { body: local.schemaPlanRequestSchema, answer: tablePlanned },
  schemaApply: { body: local.schemaApplyRequestSchema, answer: tablePlanned },
  schemaPrune: { body: local.schemaPruneRequestSchema, answer: tablePlanned },
  openTarget: { body: local.openTargetRequestSchema, answer: local.openTargetSchema },
  queryExplain: { body: local.queryExplainRequestSchema, answer: local.queryExplanationSchema },
  servicePlan: { body: local.servicePlanRequestSchema, answer: servicePlanned },
  serviceApply: { body: local.serviceApplyRequestSchema, answer: servicePlanned },
  servicePrune: { body: local.servicePruneRequestSchema, answer: servicePlanned },
  recomputePlan: { body: local.recomputePlanRequestSchema, answer: z.object({ plan: recomputePlanSchema }) },
  recompute: { body: local.recomputeRequestSchema, answer: z.object({ result: recomputeResultSchema }) },
  errors: {
    query: z.strictObject({
      target: z.string(),
      /** Default: all tables of the target, with counts only. */
      table: z.string().optional(),
      column: z.string().optional(),
      limit: z.coerce.number().int().min(1).max(MAX_ERRORS).default(100),
    }),
    answer: z.object({ tables: z.array(tableErrorsSchema) }),
  },
  jobList: {
    query: z.strictObject({ target: z.string(), all: yesOrNo }),
    answer: z.object({ jobs: z.array(jobRecordSchema) }),
  },
  jobCancel: {
    body: z.strictObject({ target: z.string(), id: z.string() }),
    answer: z.object({ id: z.string() }),
  },
  ...MEDIA_SCHEMAS,
  ...DATA_SCHEMAS,
  ...PSQL_SCHEMAS,
  ...WRITE_SCHEMAS,
  ...TABLE_CHANGE_SCHEMAS,
  /** Services of one target; default: of every target. */
  serviceList: {
    query: z.strictObject({ target: z.string().optional() }),
    answer: z.object({ services: z.array(local.serviceRecordSchema) }),
  },
  serviceRestart: { body: named, answer: local.serviceRecordSchema },
  serviceStop: { body: named, answer: local.serviceRecordSchema },
  /** Starts with the last `tail` lines. Ends at once, or with its client when it follows. */
  serviceLogs: {
    query: z.strictObject({
      name: z.string(),
      tail: z.coerce.number().int().min(0).max(MAX_LINES).default(200),
      follow: yesOrNo,
    }),
    answer: z.object({ event: z.literal("log"), line: z.string() }),
  },
  databaseList: { answer: z.object({ databases: z.array(local.localDatabaseSchema) }) },
  /** `created`: false for a database that exists, which `if_exists: "ignore"` allows. */
  databaseCreate: { body: local.databaseCreateRequestSchema, answer: z.object({ created: z.boolean() }) },
  /** A dry run only reports what would be deleted. */
  databaseDelete: { body: local.databaseDeleteRequestSchema, answer: local.localDeletionSchema },
  scratchCreate: { body: local.scratchCreateRequestSchema, answer: named },
  scratchDelete: { body: named, answer: z.object({}) },
  stop: { answer: z.object({}) },
});
