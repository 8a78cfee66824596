import type { RecordEvent } from "../../audit/event.ts";
import type { ServerConfig } from "../../config/config.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { checkDisk } from "../../health/checks.ts";
import { requireRecentProof } from "../../identity/second-factor/recent-proof.ts";
import { clusterFolder } from "../../pods/database-paths.ts";
import type { ControlRoutes } from "../../requests/checked-route.ts";
import { readHomeDisk } from "../../storage/disk-floor.ts";
import { requireStartSpace } from "../../storage/start-space.ts";
import { findDatabase, findRow, listDatabases } from "./databases-store.ts";
import { deleteDatabase } from "./delete-database.ts";
import { type PlanBoundsDeps, planBounds } from "./plan-bounds.ts";
import { checkNewBuild, parseDatabaseName, readPlan } from "./read-plan.ts";
import { requestBuild } from "./request-build.ts";
import { type DatabaseVerb, requestChange } from "./request-change.ts";
import { updateDatabase } from "./update-database.ts";
import { writeMetrics } from "./write-metrics.ts";

export interface DatabaseRouteDeps extends PlanBoundsDeps {
  readonly db: ControlDatabase;
  readonly config: Pick<ServerConfig, "home" | "identity" | "media" | "pods" | "quotas">;
  readonly recordEvent: RecordEvent;
}

const VERBS = {
  databaseStart: "start",
  databaseStop: "stop",
  databaseRetry: "retry",
  databaseUndelete: "undelete",
} as const satisfies Record<string, Exclude<DatabaseVerb, "build_image" | "restart">>;

export function addDatabaseRoutes(routes: ControlRoutes, deps: DatabaseRouteDeps): void {
  const { db, recordEvent } = deps;
  const { undelete_days: undeleteDays } = deps.config.pods;
  const plans = planBounds(deps);
  routes.add("databaseList", async ({ org, query }) => listDatabases(db, org, query));
  routes.add("databaseShow", async ({ org, params }) => {
    const [database, problems] = await Promise.all([findDatabase(db, org, params.db), checkDisk(deps)]);
    if (!problems.some(({ code }) => code === "disk_full")) return { ...database, is_server_disk_full: false };
    const { free_bytes: free } = await readHomeDisk(deps);
    return { ...database, is_server_disk_full: true, server_disk_free_bytes: free };
  });
  routes.add("databaseMetrics", async ({ org, reply }) => {
    const { text, type } = await writeMetrics(db, org);
    reply.type(type).send(text);
  });
  routes.add("databasePlan", async ({ org, params, body }) => {
    const name = parseDatabaseName(params.db);
    const row = await findRow(db, org.id, name);
    await checkNewBuild(db, org, { ...plans, row, environment: body.environment });
    return (await readPlan(db, org, { ...plans, name, row, request: body })).plan;
  });
  routes.changePrepared(
    "databaseUpdate",
    async ({ org, params, body }) => {
      const row = await findRow(db, org.id, parseDatabaseName(params.db));
      await checkNewBuild(db, org, { ...plans, row, environment: body.environment });
    },
    async (call, tx) => updateDatabase({ ...plans, tx, recordEvent }, call, call.params.db, call.body),
  );
  routes.changePrepared(
    "databaseBuildImage",
    async ({ org, params, body }) => {
      if (body == null) return;
      const row = await findRow(db, org.id, params.db);
      await checkNewBuild(db, org, { ...plans, row, environment: body.environment });
    },
    async (call, tx) => requestBuild({ ...plans, tx, recordEvent }, call, call.params.db, call.body),
  );
  routes.changePrepared(
    "databaseRestart",
    async ({ org, params }) => {
      // a request that cannot be carried out anyway has its own reason
      const row = await findRow(db, org.id, params.db);
      if (row?.state === "AVAILABLE")
        await requireStartSpace(deps, "PostgreSQL", clusterFolder(deps.config.home, row.id));
    },
    async (call, tx) => requestChange({ tx, recordEvent }, call, call.params.db, "restart"),
  );
  for (const [name, verb] of Object.entries(VERBS) as [keyof typeof VERBS, DatabaseVerb][]) {
    routes.change(name, async (call, tx) => requestChange({ tx, recordEvent }, call, call.params.db, verb));
  }
  routes.change("databaseDelete", async (call, tx) => {
    await requireRecentProof(tx, call.principal, deps.config.identity.confirm_s);
    const request = { name: call.params.db, is_now: call.query.now === "1" };
    return await deleteDatabase({ tx, recordEvent, undelete_days: undeleteDays }, call, request);
  });
}
