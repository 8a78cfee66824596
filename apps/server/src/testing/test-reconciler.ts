import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { bundleScript } from "@appdb/testkit/built-programs";
import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { requestState } from "../control-plane/databases/state.ts";
import type { DesiredDatabase } from "../database/desired.ts";
import { startOperation } from "../operations/run-operation.ts";
import { enqueueReconcileDatabase } from "../queue/jobs.ts";
import type { ReconcileStep, ServiceStep } from "../reconciler/core/reconcile-deps.ts";
import { type Reconciler, type ReconcilerDeps, startReconciler } from "../reconciler/reconciler.ts";
import { makeDatabase } from "./databases.ts";
import type { TestServer } from "./open-server.ts";
import { makeOrg, makePerson, type TestOrg, type TestPerson } from "./people.ts";
import { createTestMachine, type TestMachine } from "./test-machine.ts";

/** The kinds of requests, without HTTP. */
export type TestVerb = "update" | "build_image" | "start" | "stop" | "restart" | "retry" | "delete" | "undelete";

/** An organization with a declared database, and a machine for its pods. */
export interface TestReconciler {
  readonly server: TestServer;
  readonly machine: TestMachine;
  readonly owner: TestPerson;
  readonly org: TestOrg;
  readonly id: string;
  readonly pod: string;
  start(deps?: Pick<ReconcilerDeps, "bucket">): Promise<Reconciler>;
  /** Starts a reconciler in its own process and kills it after a step. False if it never gets there. */
  killBehind(step: ReconcileStep | ServiceStep): Promise<boolean>;
  /** Records a request like the control plane. Returns its operation. */
  ask(verb: TestVerb, desired?: Partial<DesiredDatabase>, options?: { readonly is_now?: boolean }): Promise<string>;
  /** Stores an image's environment, like an update. */
  storeEnvironment(hash: string): Promise<void>;
  see(): Promise<SeenTestDatabase>;
  /** Waits until the database is in this state without pending work. */
  settles(state: string | undefined): Promise<SeenTestDatabase>;
}

/** The visible state of the database. */
export interface SeenTestDatabase {
  readonly state: string | undefined;
  readonly failure: { readonly code: string; readonly detail: string } | null;
  readonly observed: DesiredDatabase | null;
  readonly generation: number;
  readonly observed_generation: number;
  readonly last_build: { readonly state: string; readonly error: { readonly code: string } | null } | null;
  readonly awake_because: string | null;
  readonly restarts: number;
  /** Newest last: `database.stop succeeded`. */
  readonly operations: readonly string[];
  readonly open: number;
  readonly jobs: number;
  readonly pods: readonly { readonly state: string; readonly reason: string | null }[];
}

const NAME = "data";
const SETTLE_MS = 40_000;

export async function openTestReconciler(server: TestServer): Promise<TestReconciler> {
  const machine = createTestMachine(server.home);
  const owner = await makePerson(server);
  const org = await makeOrg(server, owner);
  // otherwise the reconciler would create one
  await makeDatabase(server, org, { name: "main", state: "STOPPED" });
  const id = await makeDatabase(server, org, { name: NAME, state: "PROVISIONING", observed: null });
  const { db, recordEvent } = server.deps;
  const uri = `cloud://${org.name}:${NAME}`;
  const write = async (kind: string, target: string, tx: Parameters<typeof enqueueReconcileDatabase>[0]) => {
    const operation = await startOperation(
      { tx: tx as never, recordEvent },
      {
        org_id: org.id,
        database_id: id,
        kind,
        target,
        is_cancellable: true,
        actor: "a test",
        principal: undefined,
        ip_address: null,
        client: null,
      },
    );
    await enqueueReconcileDatabase(tx, id);
    return operation ?? "";
  };
  await db.transaction().execute((tx) => write("database.provision", uri, tx));

  const setup: TestReconciler = {
    server,
    machine,
    owner,
    org,
    id,
    pod: `db-${id}`,
    start: (deps = {}) =>
      startReconciler({
        ...server.deps,
        ...deps,
        machine,
        pool_options: server.deps.pool.options,
        allow_private: false,
      }),
    async killBehind(step) {
      const script = await bundleScript(join(import.meta.dirname, "killed-reconciler.ts"));
      const args = [script, server.dsn, server.home, step];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      let said = "";
      child.stdout.on("data", (data) => {
        said += data;
      });
      const exited = once(child, "exit");
      try {
        return await eventually(
          async () => {
            if (said.split("\n").includes(step)) return true;
            if (said.includes("started\n") && (await setup.see()).jobs === 0) return said.split("\n").includes(step);
            throw new Error(`It did not reach ${step}: ${said}`);
          },
          { timeout_ms: SETTLE_MS },
        );
      } finally {
        child.kill("SIGKILL");
        await exited;
      }
    },
    async ask(verb, desired = {}, { is_now: isNow = false } = {}) {
      return await db.transaction().execute(async (tx) => {
        const row = await tx
          .selectFrom("control.databases")
          .select(["state", "desired", "generation"])
          .where("id", "=", id)
          .forUpdate()
          .executeTakeFirstOrThrow();
        await sql`update control.operations set state = 'cancelled', ended_at = now()
          where database_id = ${id} and state in ('pending', 'running')`.execute(tx);
        const isAwake = !["stop", "delete", "undelete"].includes(verb);
        const restarts = row.desired.restarts + (verb === "restart" || verb === "retry" ? 1 : 0);
        const builds = row.desired.builds + (verb === "build_image" ? 1 : 0);
        await tx
          .updateTable("control.databases")
          .set({
            state: requestState(uri, row.state, verb),
            desired: JSON.stringify({ ...row.desired, ...desired, is_awake: isAwake, restarts, builds }),
            generation: row.generation + 1,
            purge_at: verb === "delete" ? sql<Date>`now() + ${isNow ? "0" : "7"} * interval '1 day'` : null,
            failure: null,
          })
          .where("id", "=", id)
          .execute();
        return await write(`database.${verb}`, uri, tx);
      });
    },
    async storeEnvironment(hash) {
      const environment = { source: "uv.lock", files: [], python_version: null, system_packages: [], uv_options: null };
      await db
        .insertInto("control.images")
        .values({
          org_id: org.id,
          hash,
          state: "building",
          environment: JSON.stringify(environment),
          python: null,
          packages: null,
          bytes: null,
          built_at: null,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    see: () => seeDatabase(server, id),
    settles: (state) =>
      eventually(
        async () => {
          const seen = await seeDatabase(server, id);
          if (seen.state !== state || seen.open > 0 || seen.jobs > 0) throw new Error(`It is ${JSON.stringify(seen)}.`);
          return seen;
        },
        { timeout_ms: SETTLE_MS },
      ),
  };
  return setup;
}

async function seeDatabase(server: TestServer, id: string): Promise<SeenTestDatabase> {
  const { rows } = await sql<SeenTestDatabase>`
    select d.state, d.failure, d.observed, d.generation, d.observed_generation, d.last_build, d.awake_because,
      coalesce((select max(p.restarts) from control.pods p where p.database_id = d.id), 0) as restarts,
      (select coalesce(jsonb_agg(o.kind || ' ' || o.state order by o.id), '[]') from control.operations o
        where o.target = 'cloud://' || g.name || ${`:${NAME}`}) as operations,
      (select count(*)::int from control.operations o where o.state in ('pending', 'running')
        and o.target = 'cloud://' || g.name || ${`:${NAME}`}) as open,
      (select count(*)::int from control.jobs j
        where j.key in ('reconcile-database ' || ${id}, 'build-image ' || ${id}) or j.key like 'reconcile-service %' or j.key like 'prepare-image %' or j.lease is not null) as jobs,
      (select coalesce(jsonb_agg(jsonb_build_object('state', p.state, 'reason', p.reason)), '[]') from control.pods p
        where p.database_id = d.id) as pods
    from control.organizations g left join control.databases d on d.org_id = g.id and d.id = ${id}
    where g.id = (select coalesce((select org_id from control.databases where id = ${id}), (select id from control.organizations limit 1)))`.execute(
    server.deps.db,
  );
  const [row] = rows;
  if (row === undefined) throw new Error("The test's organization does not exist.");
  return { ...row, state: row.state ?? undefined };
}
