import * as z from "zod";

/**
 * Requests of the operator on the server's machine. `cli server ...` sends one request to `server.js operator` and
 * prints the answer. It never crosses the network, and both ends have one version.
 */
export const operatorRequestSchema = z.discriminatedUnion("act", [
  z.strictObject({ act: z.literal("status") }),
  z.strictObject({ act: z.literal("orgs") }),
  z.strictObject({ act: z.literal("databases"), org: z.string().optional() }),
  /** Without an organization: all of them. */
  z.strictObject({ act: z.literal("retry"), org: z.string().optional() }),
  z.strictObject({ act: z.literal("suspend"), org: z.string(), reason: z.string().max(300).optional() }),
  z.strictObject({ act: z.literal("resume"), org: z.string() }),
  z.strictObject({ act: z.literal("quota"), org: z.string(), databases: z.int().min(1).max(10_000) }),
  z.strictObject({ act: z.literal("rotate-master-key") }),
  z.strictObject({ act: z.literal("reset-link"), email: z.string() }),
]);
export type OperatorRequest = z.output<typeof operatorRequestSchema>;
export type OperatorAct = OperatorRequest["act"];

const counts = z.record(z.string(), z.int());

const operatedOrgSchema = z.object({
  name: z.string(),
  databases: z.int(),
  database_quota: z.int(),
  members: z.int(),
  created_at: z.string(),
  suspended_at: z.string().nullable(),
  suspended_for: z.string().nullable(),
});
export type OperatedOrg = z.output<typeof operatedOrgSchema>;

const operatedDatabaseSchema = z.object({
  uri: z.string(),
  /** As in the server's log and in the folders of the home. */
  id: z.string(),
  state: z.string(),
  /** Names of services with their states. */
  services: z.record(z.string(), z.string()),
  /** Why its services failed, or their last starts. */
  service_failures: z.record(z.string(), z.object({ code: z.string(), detail: z.string() })).default({}),
  /** Why it failed, or its last start. */
  failure: z.object({ code: z.string(), detail: z.string() }).nullable(),
  /** The next automatic retry. */
  retry_at: z.string().nullable(),
  /** What its disk holds and may hold; null before it was measured. */
  disk_bytes: z.number().nullable(),
  disk_limit_bytes: z.number().nullable(),
  /** Writes are refused with `disk_full`. */
  is_disk_full: z.boolean(),
});
export type OperatedDatabase = z.output<typeof operatedDatabaseSchema>;

/** The answers of each act. */
export const OPERATOR_ANSWERS = {
  status: z.object({
    home: z.string(),
    version: z.string(),
    /** The address of the running server; null when none runs on the home. */
    url: z.string().nullable(),
    /** Whether it responds: a server that hangs does not, and the states below are the last ones. */
    is_responding: z.boolean(),
    organizations: z.int(),
    suspended: z.int(),
    databases: counts,
    services: counts,
    operations_waiting: z.int(),
    free_disk_bytes: z.number(),
    /** A problem of the disk, as /health reports it. */
    disk_problem: z.object({ code: z.string(), what: z.string() }).nullable(),
  }),
  orgs: z.object({ organizations: z.array(operatedOrgSchema) }),
  databases: z.object({
    databases: z.array(operatedDatabaseSchema),
    /** A problem of the disk, as /health reports it: changes may wait for space. */
    disk_problem: z.object({ code: z.string(), what: z.string() }).nullable(),
  }),
  /** Addresses that are retried. */
  retry: z.object({ databases: z.array(z.string()), services: z.array(z.string()) }),
  /** `stopped`: databases that stop now; `later`: those that stop after their current operation. */
  suspend: z.object({ organization: z.string(), stopped: z.array(z.string()), later: z.array(z.string()) }),
  resume: z.object({ organization: z.string(), started: z.array(z.string()) }),
  quota: z.object({ organization: z.string(), before: z.int(), database_quota: z.int() }),
  /** Ids of the keys, and the file with the next one until the server starts. */
  "rotate-master-key": z.object({ former: z.string(), next: z.string(), file: z.string() }),
  "reset-link": z.object({ link: z.string() }),
} as const satisfies Record<OperatorAct, z.ZodType>;

export type OperatorAnswer<Act extends OperatorAct> = z.output<(typeof OPERATOR_ANSWERS)[Act]>;
