import * as z from "zod";
import { jobRecordSchema, recomputePlanSchema, recomputeResultSchema, tableErrorsSchema } from "../jobs.ts";
import { schemaPlanSchema } from "../plan.ts";
import { defineApi } from "./api.ts";
import * as bodies from "./control.ts";
import * as account from "./control-account.ts";
import * as databases from "./control-databases.ts";
import * as deploys from "./control-deploys.ts";
import { CONTROL_ROUTES } from "./control-paths.ts";
import * as services from "./control-services.ts";
import * as work from "./control-work.ts";
import { DATA_SCHEMAS } from "./data-api.ts";
import { WRITE_SCHEMAS } from "./data-writes.ts";
import { queryExplanationSchema } from "./local.ts";
import { MEDIA_SCHEMAS } from "./media-files.ts";
import { PROGRAM_SCHEMAS } from "./programs.ts";
import { PSQL_SCHEMAS } from "./psql.ts";
import { TABLE_CHANGE_SCHEMAS } from "./table-changes.ts";

const listed = <Item extends z.ZodType>(schema: Item) => ({
  query: bodies.pageQuerySchema,
  answer: z.object({ items: z.array(schema), next: z.string().nullable() }),
});
const gone = { status: 204 } as const;
const serviceAccepted = { answer: services.hostedServiceChangeSchema, status: 202 } as const;
const accepted = { answer: databases.databaseChangeSchema, status: 202 } as const;

/** The input and output of each control plane route. The server checks requests with it and generates its OpenAPI
 *  document from it. */
export const CONTROL_API = defineApi(CONTROL_ROUTES, {
  service: { answer: bodies.serverInfoSchema },
  whoami: { answer: bodies.whoamiSchema },
  setUp: { body: bodies.setUpSchema, answer: bodies.whoamiSchema, status: 201 },
  sessionList: listed(bodies.sessionSchema),
  sessionRevoke: gone,
  sessionSwitch: { body: bodies.sessionSwitchSchema, answer: bodies.whoamiSchema },
  accountShow: { answer: account.accountSecuritySchema },
  passwordChange: { body: account.passwordChangeSchema, ...gone },
  sessionConfirm: {
    body: account.confirmSchema,
    answer: account.accountSecuritySchema.pick({ confirmed_until: true }),
  },
  factorBegin: { body: account.factorBeginSchema, answer: account.begunFactorSchema },
  factorEnable: { body: account.factorEnableSchema, answer: account.enabledFactorSchema },
  factorDisable: { body: account.factorDisableSchema, ...gone },
  deviceShow: { answer: bodies.deviceSchema },
  orgList: listed(bodies.orgSchema),
  orgCreate: { body: bodies.orgCreateSchema, answer: bodies.orgSchema, status: 201 },
  orgShow: { answer: bodies.orgSchema },
  orgUpdate: { body: bodies.orgUpdateSchema, answer: bodies.orgSchema },
  memberList: listed(bodies.memberSchema),
  memberUpdate: { body: bodies.memberUpdateSchema, answer: bodies.memberSchema },
  memberRemove: gone,
  invitationList: listed(bodies.invitationSchema),
  invitationCreate: { body: bodies.invitationCreateSchema, answer: bodies.createdInvitationSchema, status: 201 },
  invitationRevoke: gone,
  invitationShow: { answer: bodies.invitationShownSchema },
  invitationAccept: { answer: bodies.orgSchema },
  keyList: listed(bodies.keySchema),
  keyCreate: { body: bodies.keyCreateSchema, answer: bodies.createdKeySchema, status: 201 },
  keyDelete: gone,
  keyRotate: { body: bodies.keyRotateSchema, answer: bodies.createdKeySchema },
  secretList: listed(bodies.secretSchema),
  secretSet: { body: bodies.secretSetSchema, answer: bodies.changedSecretSchema },
  secretDelete: gone,
  databaseSecretList: listed(bodies.secretSchema),
  databaseSecretSet: { body: bodies.secretSetSchema, answer: bodies.changedSecretSchema },
  databaseSecretDelete: gone,
  databaseList: listed(databases.databaseSchema),
  databaseShow: { answer: databases.databaseSchema },
  databaseMetrics: {},
  databasePlan: { body: databases.databasePlanRequestSchema, answer: databases.databasePlanSchema },
  databaseUpdate: { body: databases.databaseUpdateRequestSchema, ...accepted },
  databaseBuildImage: { body: databases.databaseBuildImageRequestSchema, ...accepted },
  databaseStart: accepted,
  databaseStop: accepted,
  databaseRestart: accepted,
  databaseRetry: accepted,
  databaseDelete: { query: databases.databaseDeleteQuerySchema, ...accepted },
  databaseUndelete: accepted,
  databaseLogs: { query: databases.databaseLogsQuerySchema, answer: databases.logLineSchema },
  operationLog: { query: databases.operationLogQuerySchema, answer: databases.logLineSchema },
  blobMissing: { body: databases.blobMissingSchema, answer: databases.blobMissingAnswerSchema },
  blobUpload: { answer: databases.blobUploadAnswerSchema },
  schemaPlan: {
    body: databases.hostedSchemaPlanRequestSchema,
    answer: z.object({ plan: schemaPlanSchema }),
  },
  schemaApply: { body: databases.hostedSchemaApplyRequestSchema, answer: z.object({ plan: schemaPlanSchema }) },
  schemaPrune: { body: databases.hostedSchemaPruneRequestSchema, answer: z.object({ plan: schemaPlanSchema }) },
  queryExplain: { body: databases.hostedQueryExplainRequestSchema, answer: queryExplanationSchema },
  ...DATA_SCHEMAS,
  ...PSQL_SCHEMAS,
  ...TABLE_CHANGE_SCHEMAS,
  ...PROGRAM_SCHEMAS,
  ...WRITE_SCHEMAS,
  ...MEDIA_SCHEMAS,
  errorList: { query: work.errorListQuerySchema, answer: z.object({ tables: z.array(tableErrorsSchema) }) },
  recomputePlan: { body: work.recomputeBodySchema, answer: z.object({ plan: recomputePlanSchema }) },
  recompute: { body: work.recomputeBodySchema, answer: z.object({ result: recomputeResultSchema }) },
  jobList: { query: work.jobListQuerySchema, answer: z.object({ jobs: z.array(jobRecordSchema) }) },
  jobCancel: { body: work.jobCancelSchema, answer: work.jobCancelSchema },
  serviceList: { ...listed(services.hostedServiceSchema), query: services.hostedServiceListQuerySchema },
  serviceShow: { answer: services.hostedServiceSchema },
  servicePlan: { body: services.hostedServicePlanRequestSchema, answer: services.hostedServicePlanSchema },
  serviceUpdate: {
    body: services.hostedServiceUpdateRequestSchema,
    answer: services.hostedServiceUpdateAnswerSchema,
    status: 202,
  },
  servicePrune: {
    body: services.hostedServicePruneRequestSchema,
    answer: services.hostedServiceUpdateAnswerSchema,
    status: 202,
  },
  serviceRestart: serviceAccepted,
  serviceStop: serviceAccepted,
  serviceRetry: serviceAccepted,
  serviceRollback: { body: services.hostedServiceRollbackRequestSchema, ...serviceAccepted },
  serviceRollbackPlan: {
    body: services.hostedServiceRollbackRequestSchema,
    answer: services.hostedServiceRollbackPlanSchema,
  },
  deployBegin: { body: deploys.deployBeginRequestSchema, answer: deploys.deploySchema, status: 201 },
  deployAlive: { answer: deploys.deploySchema },
  preparationBegin: { body: deploys.preparationRequestSchema, answer: deploys.preparationSchema, status: 202 },
  deployEnd: { body: deploys.deployEndRequestSchema, answer: deploys.deploySchema },
  deployRollbackPlan: { answer: deploys.deployRollbackPlanSchema },
  deployRollback: {
    body: deploys.deployRollbackRequestSchema,
    answer: deploys.deployRollbackAnswerSchema,
    status: 202,
  },
  releaseList: listed(services.releaseSchema),
  serviceLogs: { query: services.hostedServiceLogsQuerySchema, answer: databases.logLineSchema },
  serviceOpenapi: { answer: z.record(z.string(), z.unknown()) },
  serviceCall: { body: services.serviceCallSchema, answer: services.serviceCallAnswerSchema },
  serviceTraffic: { query: services.serviceTrafficQuerySchema, answer: services.serviceTrafficSchema },
  operationList: { ...listed(bodies.operationSchema), query: bodies.operationListQuerySchema },
  operationShow: {
    query: z.strictObject({ wait_ms: z.coerce.number().int().min(0).max(30_000).default(0) }),
    answer: bodies.operationSchema,
  },
  operationCancel: { answer: bodies.operationSchema },
  eventList: listed(bodies.eventSchema),
  webhookList: listed(bodies.webhookSchema),
  webhookCreate: { body: bodies.webhookCreateSchema, answer: bodies.createdWebhookSchema, status: 201 },
  webhookDelete: gone,
  webhookResume: { answer: bodies.webhookSchema },
  deliveryList: listed(bodies.deliverySchema),
  deliveryReplay: { answer: bodies.deliverySchema, status: 202 },
});
