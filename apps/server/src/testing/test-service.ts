import type { ServiceEvent } from "@appdb/contract/control/service-states";
import { nextServiceState } from "@appdb/contract/control/service-states";
import { eventually } from "@appdb/testkit/eventually";
import { aManifest } from "@appdb/testkit/manifest-builder";
import { sql } from "kysely";
import type { DesiredService, ObservedService } from "../database/service-tables.ts";
import { startOperation } from "../operations/run-operation.ts";
import { servicePodId } from "../pods/service-paths.ts";
import { enqueueReconcileService } from "../queue/jobs.ts";
import type { TestReconciler } from "./test-reconciler.ts";

/** Differences from the default release. */
export interface TestRelease {
  readonly tree?: string | null;
  readonly environment?: string | null;
  readonly workers?: number;
}

/** The visible state of a service. */
export interface SeenTestService {
  readonly state: string;
  readonly failure: { readonly code: string; readonly detail: string } | null;
  readonly desired: DesiredService;
  readonly observed: ObservedService | null;
  readonly instance: number;
  /** Newest last: `service.stop succeeded`. */
  readonly operations: readonly string[];
  readonly errors: readonly ({ readonly code: string; readonly detail: string; readonly hint: string | null } | null)[];
  readonly events: readonly string[];
  readonly pods: readonly { readonly id: string; readonly state: string; readonly restarts: number }[];
  readonly open: number;
  readonly jobs: number;
}

/** A service of the reconciler's database. */
export interface TestService {
  readonly id: string;
  pod(instance: number): string;
  /** Records a request like the control plane. An update creates the next release. Returns its operation. */
  ask(
    event: Extract<ServiceEvent, "update" | "restart" | "stop" | "retry"> | "prune",
    release?: TestRelease,
  ): Promise<string>;
  see(): Promise<SeenTestService | undefined>;
  /** Outcomes of the events of an action, newest last. The service may be deleted. */
  outcomes(action: string): Promise<string[]>;
  /** Waits until the service is in this state without pending work. */
  settles(state: string | undefined): Promise<SeenTestService>;
}

const SETTLE_MS = 40_000;

/** Deploys a service, whose first release is the base library alone. */
export async function openTestService(reconciler: TestReconciler, name = "ingest"): Promise<TestService> {
  const { db, recordEvent } = reconciler.server.deps;
  const target = `cloud://${reconciler.org.name}:data/${name}`;
  const desired: DesiredService = { release: 1, is_running: true, restarts: 0 };
  const write = async (tx: Parameters<typeof enqueueReconcileService>[0], id: string, kind: string) => {
    await enqueueReconcileService(tx, id);
    const operation = await startOperation(
      { tx: tx as never, recordEvent },
      {
        org_id: reconciler.org.id,
        database_id: reconciler.id,
        service_id: id,
        kind,
        target,
        is_cancellable: false,
        actor: "a test",
        principal: undefined,
        ip_address: null,
        client: null,
      },
    );
    return operation ?? "";
  };
  const id = await db.transaction().execute(async (tx) => {
    const row = await tx
      .insertInto("control.services")
      .values({ org_id: reconciler.org.id, database_id: reconciler.id, name, desired: JSON.stringify(desired) })
      .returning("id")
      .executeTakeFirstOrThrow();
    await tx
      .insertInto("control.releases")
      .values(releaseOf(row.id, 1, {}))
      .execute();
    await write(tx, row.id, "service.update");
    return row.id;
  });
  const see = () => seeService(reconciler, id, target);
  return {
    id,
    see,
    pod: (instance) => servicePodId(id, instance),
    async ask(event, release = {}) {
      return await db.transaction().execute(async (tx) => {
        const row = await tx
          .selectFrom("control.services")
          .select(["state", "desired", "generation"])
          .where("id", "=", id)
          .forUpdate()
          .executeTakeFirstOrThrow();
        await sql`update control.operations set state = 'cancelled', ended_at = now()
          where service_id = ${id} and state in ('pending', 'running')`.execute(tx);
        const state = nextServiceState(row.state, event === "prune" ? "stop" : event);
        if (state === undefined) throw new Error(`${event} is refused in ${row.state}.`);
        const { rows } = await sql<{ last: number }>`select max(number) as last from control.releases
          where service_id = ${id}`.execute(tx);
        const number = (rows[0]?.last ?? 0) + 1;
        if (event === "update")
          await tx
            .insertInto("control.releases")
            .values(releaseOf(id, number, release))
            .execute();
        await tx
          .updateTable("control.services")
          .set({
            state,
            generation: row.generation + 1,
            failure: null,
            failed_starts: 0,
            is_pruned: event === "prune",
            desired: JSON.stringify({
              release: event === "update" ? number : row.desired.release,
              is_running: event !== "stop" && event !== "prune",
              restarts: row.desired.restarts + (event === "restart" || event === "retry" ? 1 : 0),
            }),
          })
          .where("id", "=", id)
          .execute();
        return await write(tx, id, `service.${event}`);
      });
    },
    async outcomes(action) {
      const { rows } = await sql<{ outcome: string }>`select outcome from control.events
        where target = ${target} and action = ${action} order by id`.execute(db);
      return rows.map(({ outcome }) => outcome);
    },
    settles: (state) =>
      eventually(
        async () => {
          const seen = await see();
          if (seen === undefined && state === undefined) return NONE;
          if (seen === undefined || seen.state !== state || seen.open > 0 || seen.jobs > 0)
            throw new Error(`It is ${JSON.stringify(seen)}.`);
          return seen;
        },
        { timeout_ms: SETTLE_MS },
      ),
  };
}

const NONE: SeenTestService = {
  state: "gone",
  failure: null,
  desired: { release: 0, is_running: false, restarts: 0 },
  observed: null,
  instance: 0,
  operations: [],
  errors: [],
  events: [],
  pods: [],
  open: 0,
  jobs: 0,
};

function releaseOf(serviceId: string, number: number, { environment = null, tree = null, workers = 1 }: TestRelease) {
  return {
    service_id: serviceId,
    number,
    environment,
    tree,
    workers,
    app_file: "app.py",
    created_by: "a test",
    manifest: JSON.stringify(aManifest()),
    changes: JSON.stringify([]),
  };
}

async function seeService(
  { server }: TestReconciler,
  id: string,
  target: string,
): Promise<SeenTestService | undefined> {
  const { rows } = await sql<SeenTestService>`
    select s.state, s.failure, s.desired, s.observed, s.instance,
      (select coalesce(jsonb_agg(o.kind || ' ' || o.state order by o.id), '[]') from control.operations o
        where o.target = ${target}) as operations,
      (select coalesce(jsonb_agg(o.error order by o.id), '[]') from control.operations o
        where o.target = ${target}) as errors,
      (select coalesce(jsonb_agg(e.action || ' ' || e.outcome order by e.id), '[]') from control.events e
        where e.target = ${target}) as events,
      (select count(*)::int from control.operations o
        where o.service_id = s.id and o.state in ('pending', 'running')) as open,
      (select count(*)::int from control.jobs j
        where j.key = 'reconcile-service ' || s.id or j.lease is not null) as jobs,
      (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'state', p.state, 'restarts', p.restarts) order by p.id), '[]')
        from control.pods p where p.database_id = s.database_id and p.kind = 'service' and p.id like 'svc-' || s.id || '-%') as pods
    from control.services s where s.id = ${id}`.execute(server.deps.db);
  return rows[0];
}
