import * as z from "zod";
import { jobRecordSchema, recomputePlanSchema, recomputeResultSchema, tableErrorsSchema } from "../jobs.ts";
import { manifestSchema } from "../manifest.ts";
import { schemaPlanSchema } from "../plan.ts";
import { podHealthSchema, servicePodHealthSchema } from "../pod-spec.ts";
import { defineApi } from "./api.ts";
import * as work from "./control-work.ts";
import { DATA_SCHEMAS } from "./data-api.ts";
import { WRITE_SCHEMAS } from "./data-writes.ts";
import { queryExplanationSchema } from "./local.ts";
import { MEDIA_SCHEMAS } from "./media-files.ts";
import * as pod from "./pod.ts";
import { POD_ROUTES, SERVICE_POD_ROUTES } from "./pod-paths.ts";
import { PROGRAM_SCHEMAS } from "./programs.ts";
import { PSQL_SCHEMAS } from "./psql.ts";
import { TABLE_CHANGE_SCHEMAS, tableChangedSchema } from "./table-changes.ts";

const imported = z.array(pod.importedFileSchema);
const done = z.object({});

/** The input and output of each route of a database pod. */
export const POD_API = defineApi(POD_ROUTES, {
  health: { answer: podHealthSchema },
  manifest: { body: pod.podManifestRequestSchema, answer: z.object({ manifest: manifestSchema, imported }) },
  schemaPlan: { body: pod.podSchemaPlanRequestSchema, answer: z.object({ plan: schemaPlanSchema, imported }) },
  schemaApply: { body: pod.podSchemaApplyRequestSchema, answer: z.object({ plan: schemaPlanSchema }) },
  schemaPrune: { body: pod.podSchemaPruneRequestSchema, answer: z.object({ plan: schemaPlanSchema }) },
  queryExplain: { body: pod.podQueryExplainRequestSchema, answer: queryExplanationSchema },
  tablesCheck: { body: pod.podTablesCheckRequestSchema, answer: pod.podTablesCheckSchema },
  treeList: { answer: pod.podTreesSchema },
  treeUse: { body: pod.podTreeUseSchema, status: 204 },
  ...DATA_SCHEMAS,
  ...PSQL_SCHEMAS,
  psqlRead: { ...PSQL_SCHEMAS.psqlRead, body: pod.podPsqlRequestSchema },
  psqlWrite: { ...PSQL_SCHEMAS.psqlWrite, body: pod.podPsqlRequestSchema },
  ...TABLE_CHANGE_SCHEMAS,
  tableChange: { body: pod.podTableChangeRequestSchema, answer: tableChangedSchema },
  ...PROGRAM_SCHEMAS,
  programStore: { ...PROGRAM_SCHEMAS.programStore, body: pod.podProgramCodeSchema },
  programRenew: { ...PROGRAM_SCHEMAS.programRenew, body: pod.podProgramCodeSchema },
  ...WRITE_SCHEMAS,
  ...MEDIA_SCHEMAS,
  errorList: { query: work.errorListQuerySchema, answer: z.object({ tables: z.array(tableErrorsSchema) }) },
  recomputePlan: { body: work.recomputeBodySchema, answer: z.object({ plan: recomputePlanSchema }) },
  recompute: { body: pod.podRecomputeRequestSchema, answer: z.object({ result: recomputeResultSchema }) },
  jobList: { query: work.jobListQuerySchema, answer: z.object({ jobs: z.array(jobRecordSchema) }) },
  jobCancel: { body: work.jobCancelSchema, answer: work.jobCancelSchema },
  serviceRole: { body: pod.podServiceRoleRequestSchema, answer: pod.podServiceRoleSchema },
  serviceRoleDrop: { params: pod.podServiceRoleRequestSchema, status: 204 },
  stop: { answer: done },
});

/** The same for a service pod. */
export const SERVICE_POD_API = defineApi(SERVICE_POD_ROUTES, {
  health: { answer: servicePodHealthSchema },
  keys: { status: 204 },
  metrics: {},
  drain: { answer: done },
  stop: { answer: done },
});
