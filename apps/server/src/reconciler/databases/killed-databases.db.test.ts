import { sql } from "kysely";
import { afterAll, expect, test } from "vitest";
import type { DesiredDatabase } from "../../database/desired.ts";
import { openServer } from "../../testing/open-server.ts";
import { openTestReconciler, type TestReconciler, type TestVerb } from "../../testing/test-reconciler.ts";
import { RECONCILE_STEPS, type ReconcileStep } from "../core/reconcile-deps.ts";

/** `npm run test:faults` runs all cells. Other runs pick a few by `APPDB_SEED`. */
const LONG = process.env.APPDB_FAULTS === "long";
const FEW = 6;

const HASH = "a".repeat(64);
const TREE = "c".repeat(64);
const RESOURCES = { cpu: 2, memory_mb: 2_048, disk_gb: 20, workers: 3 };

interface Operation {
  readonly name: string;
  /** Undefined while the database is created. */
  readonly verb?: TestVerb;
  /** Requests that were carried out before. */
  readonly before?: readonly TestVerb[];
  readonly desired?: Partial<DesiredDatabase>;
  readonly is_now?: boolean;
  /** In order of execution. */
  readonly steps: readonly ReconcileStep[];
  readonly ends: { readonly state: string | undefined; readonly pods: number };
}

const START = ["begun", "prepared", "committed", "pod_started", "pod_ready", "ended"] as const;
const AGAIN = ["begun", "prepared", "committed", "pod_stopped", "pod_started", "pod_ready", "ended"] as const;
const BUILD = ["begun", "building", "image_there", "built", ...AGAIN.slice(1)] as const;
const AVAILABLE = { state: "AVAILABLE", pods: 1 };
const OPERATIONS: readonly Operation[] = [
  { name: "provision", steps: AGAIN, ends: AVAILABLE },
  {
    name: "update of size and files",
    verb: "update",
    desired: { tree: TREE, resources: RESOURCES },
    steps: AGAIN,
    ends: AVAILABLE,
  },
  {
    name: "update of files",
    verb: "update",
    desired: { tree: TREE },
    steps: ["begun", "prepared", "committed", "pod_ready", "ended"],
    ends: AVAILABLE,
  },
  { name: "update of the image", verb: "update", desired: { environment: HASH }, steps: BUILD, ends: AVAILABLE },
  { name: "restart", verb: "restart", steps: AGAIN, ends: AVAILABLE },
  { name: "start", verb: "start", before: ["stop"], steps: START, ends: AVAILABLE },
  { name: "stop", verb: "stop", steps: ["begun", "pod_stopped", "ended"], ends: { state: "STOPPED", pods: 0 } },
  { name: "delete", verb: "delete", steps: ["begun", "pod_stopped", "ended"], ends: { state: "DELETING", pods: 0 } },
  {
    name: "undelete",
    verb: "undelete",
    before: ["delete"],
    steps: ["begun", "pod_stopped", "ended"],
    ends: { state: "STOPPED", pods: 0 },
  },
  {
    name: "delete now",
    verb: "delete",
    is_now: true,
    ends: { state: undefined, pods: 0 },
    steps: ["begun", "pod_stopped", "storage_removed", "ended"],
  },
];

const CELLS = OPERATIONS.flatMap((operation) => operation.steps.map((step) => ({ operation, step })));
const seed = Number(process.env.APPDB_SEED ?? 1);
const chosen = LONG ? CELLS : CELLS.filter((_, at) => (at + seed) % Math.ceil(CELLS.length / FEW) === 0);
const table: string[] = [];
afterAll(() => {
  process.stdout.write(`\n| operation | killed behind | ends as |\n|---|---|---|\n${table.join("\n")}\n`);
});

test("every step is part of an operation", () => {
  const gone = new Set(OPERATIONS.flatMap(({ steps }) => steps));
  expect([...gone].sort()).toEqual([...RECONCILE_STEPS].sort());
});

test.each(chosen.map(({ operation, step }) => [operation.name, step, operation] as const))(
  "%s, killed after '%s', ends once with the requested state",
  { timeout: 180_000 },
  async (_name, step, operation) => {
    await using server = await openServer();
    const setup = await openTestReconciler(server);
    await prepare(setup, operation);
    if (operation.verb !== undefined)
      await setup.ask(operation.verb, operation.desired, { is_now: operation.is_now ?? false });
    expect(await setup.killBehind(step)).toBe(true);
    await using _reconciler = await setup.start();
    const seen = await setup.settles(operation.ends.state);
    expect(seen.operations.at(-1)).toBe(`database.${operation.verb ?? "provision"} succeeded`);
    expect(setup.machine.pods.running()).toHaveLength(operation.ends.pods);
    if (operation.ends === AVAILABLE) expect(seen.observed).toMatchObject(operation.desired ?? {});
    const { rows } = await sql`select e.outcome from control.events e where e.operation_id =
      (select max(id::text)::uuid from control.operations where target like '%:data') order by e.id`.execute(
      server.deps.db,
    );
    expect(rows).toEqual([{ outcome: "pending" }, { outcome: "succeeded" }]);
    table.push(`| ${operation.name} | ${step} | ${seen.state ?? "gone"} |`);
  },
);

async function prepare(setup: TestReconciler, { verb, before = [] }: Operation): Promise<void> {
  if (verb === undefined) return;
  await setup.storeEnvironment(HASH);
  await using _reconciler = await setup.start();
  await setup.settles("AVAILABLE");
  for (const one of before) {
    await setup.ask(one);
    await setup.settles(one === "stop" ? "STOPPED" : "DELETING");
  }
}
