import { eventually } from "@appdb/testkit/eventually";
import { afterAll, beforeAll, expect, test } from "vitest";
import { applySchema, type FaultTarget, type FaultVictim, faultApp, openFaultTarget } from "./support/fault-target.ts";
import { bundleHeldServer } from "./support/held-server.ts";
import { kill, seeded } from "./support/victims.ts";

/**
 * `npm run test:faults` runs all cells; other runs test one of each operation. `APPDB_SEED` selects others,
 * `APPDB_CELL` a single one.
 */
const LONG = process.env.APPDB_FAULTS === "long";
const ONE = process.env.APPDB_CELL;
const HELD_MS = 40_000;
const FIND_MS = 60_000;

/** Possible victims: `all` when the pod runs and computes, `pod` when it runs, `none` when it does not. */
type Alive = "all" | "pod" | "none";
type Steps = Readonly<Record<string, Alive>>;

const AGAIN: Steps = { pod_stopped: "none", pod_started: "pod", pod_ready: "pod", ended: "all" };
const WORKED: Steps = { begun: "all", prepared: "all", committed: "all", ...AGAIN };
const OPERATIONS: Readonly<Record<string, Steps>> = {
  create: { begun: "none", prepared: "none", committed: "none", ...AGAIN, ended: "pod" },
  "update files": {
    begun: "all",
    prepared: "all",
    committed: "all",
    pod_started: "all",
    pod_ready: "all",
    ended: "all",
  },
  "update resources": WORKED,
  restart: WORKED,
  stop: { begun: "all", pod_stopped: "none", ended: "none" },
  start: { begun: "none", prepared: "none", committed: "none", pod_started: "pod", pod_ready: "pod", ended: "all" },
  "build-image": {
    begun: "all",
    building: "all",
    image_there: "all",
    built: "all",
    prepared: "all",
    committed: "all",
    ...AGAIN,
  },
  "schema update": { asked: "all", filling: "all", done: "all" },
  delete: { begun: "all", pod_stopped: "none", ended: "none" },
  "delete now": { begun: "pod", pod_stopped: "none", storage_removed: "none", ended: "none" },
};

interface Cell {
  readonly operation: string;
  readonly victim: FaultVictim;
  readonly step: string;
  readonly name: string;
}

const VICTIMS_OF: Readonly<Record<Alive, readonly FaultVictim[]>> = {
  all: ["server", "control postgres", "supervisor", "postgres", "worker"],
  pod: ["server", "control postgres", "supervisor", "postgres"],
  none: ["server", "control postgres"],
};
const CELLS: readonly Cell[] = Object.entries(OPERATIONS).flatMap(([operation, steps]) =>
  Object.entries(steps).flatMap(([step, alive]) =>
    VICTIMS_OF[alive].map((victim) => ({ operation, victim, step, name: `${operation}/${victim}/${step}` })),
  ),
);
const seed = Number(process.env.APPDB_SEED ?? 1);
const chosen = choose(seeded(seed));

let target: FaultTarget;
let isBroken = false;
let extra = 0;
let made = 0;
let memoryMb = 1_024;
let ids = new Map<string, string>();
const table: string[] = [];

beforeAll(async () => {
  bundleHeldServer();
  target = await openFaultTarget();
});
afterAll(async () => {
  await target?.[Symbol.asyncDispose]();
  const head = "| operation | killed | at the step | outcome | seconds |\n|---|---|---|---|---|";
  process.stdout.write(`\n${table.length} of ${CELLS.length} cells, seed ${seed}\n${head}\n${table.join("\n")}\n`);
});

test.each(chosen.map((cell) => [cell.operation, cell.victim, cell.step, cell] as const))(
  "%s: a kill of the %s at '%s' loses no row and the operation ends once",
  { timeout: 240_000 },
  async (_operation, _victim, _step, cell) => {
    if (isBroken) await openAnew();
    const begun = Date.now();
    const outcome = await runCell(cell).catch((cause: unknown) => {
      isBroken = true;
      const said = target.server
        .output()
        .split("\n")
        .filter((line) => !/"level":"info"|database_not_reached/.test(line))
        .slice(-12)
        .map((line) => line.slice(0, 500));
      const again = `APPDB_SEED=${seed} APPDB_CELL='${cell.name}' npx vitest run --project e2e hosted-kills`;
      throw new Error(`${String(cause)}\nThis cell again: ${again}\nThe server said last:\n${said.join("\n")}`, {
        cause,
      });
    });
    const { operation, victim, step } = cell;
    table.push(`| ${operation} | ${victim} | ${step} | ${outcome} | ${((Date.now() - begun) / 1_000).toFixed(1)} |`);
  },
);

/** A failed cell may leave anything behind; the next cells must not wait for it or fail with it. */
async function openAnew(): Promise<void> {
  await target[Symbol.asyncDispose]();
  [extra, made, memoryMb] = [0, 0, 1_024];
  ids = new Map();
  target = await openFaultTarget();
  isBroken = false;
}

/**
 * One cell of each operation. Prefers the victim that previous operations killed least, so that every victim occurs.
 */
function choose(random: () => number): readonly Cell[] {
  if (ONE !== undefined) return CELLS.filter(({ name }) => name === ONE);
  if (LONG) return CELLS;
  const kills = new Map<FaultVictim, number>();
  return Object.keys(OPERATIONS).flatMap((operation) => {
    const own = CELLS.filter((cell) => cell.operation === operation);
    const min = Math.min(...own.map(({ victim }) => kills.get(victim) ?? 0));
    const fitting = own.filter(({ victim }) => (kills.get(victim) ?? 0) === min);
    const cell = fitting[Math.floor(random() * fitting.length)];
    if (cell === undefined) return [];
    kills.set(cell.victim, min + 1);
    return [cell];
  });
}

async function runCell(cell: Cell): Promise<string> {
  const { operation } = cell;
  await target.settles("data", "AVAILABLE");
  if (operation === "schema update") return await runSchemaCell(cell);
  const { db, method, path, body, ends } = await prepare(operation);
  target.server.hold(cell.step);
  // the kill of the previous cell may be noticed only now: the database is refused while it starts
  const asked = await eventually(
    async () => {
      const answer =
        path === "/update"
          ? await target.update(db, body ?? {})
          : await target.insist(method, `/databases/${db}${path}`, body);
      expect(answer, JSON.stringify(answer)).toMatchObject({ status: 202 });
      return answer;
    },
    { timeout_ms: HELD_MS },
  );
  const operationId = asked.json.operation?.id as string;
  await eventually(() => expect(target.server.held()).toBe(cell.step), { timeout_ms: HELD_MS });
  await strike(cell.victim, await idOf(db));
  const outcome = await endsOnce(operationId);
  expect(outcome).toBe("succeeded");
  await endsAs(db, ends);
  await cleanUp(operation, db);
  await isSound();
  return `${outcome}, ${ends ?? "gone"}`;
}

interface Prepared {
  readonly db: string;
  readonly method: "POST" | "DELETE";
  /** Request path below the database's. */
  readonly path: string;
  readonly body?: object;
  /** Undefined when the database is deleted. */
  readonly ends: string | undefined;
}

async function prepare(operation: string): Promise<Prepared> {
  const post = (path: string, ends: string, body?: object): Prepared => ({
    db: "data",
    method: "POST",
    path,
    ends,
    ...(body === undefined ? {} : { body }),
  });
  switch (operation) {
    case "create":
      made += 1;
      return { ...post("/update", "AVAILABLE", await target.upload(faultApp(0))), db: `made-${made}` };
    case "update files":
      return post("/update", "AVAILABLE", await target.upload(`${faultApp(extra)}\n# ${Date.now()}\n`));
    case "update resources":
      memoryMb = memoryMb === 1_024 ? 1_536 : 1_024;
      return post("/update", "AVAILABLE", await target.upload(faultApp(extra), { memory_mb: memoryMb }));
    case "start":
      await change("data", "POST", "/stop");
      await target.settles("data", "STOPPED");
      return post("/start", "AVAILABLE");
    case "stop":
      return post("/stop", "STOPPED");
    case "delete":
      return { ...post("", "DELETING"), method: "DELETE" };
    case "delete now":
      made += 1;
      await target.update(`made-${made}`, await target.upload(faultApp(0)));
      await target.settles(`made-${made}`, "AVAILABLE");
      return { ...post("?now=1", ""), method: "DELETE", db: `made-${made}`, ends: undefined };
    default:
      return post(`/${operation}`, "AVAILABLE");
  }
}

async function change(db: string, method: "POST" | "DELETE", path: string): Promise<void> {
  const asked = await target.insist(method, `/databases/${db}${path}`);
  expect(asked, JSON.stringify(asked)).toMatchObject({ status: 202 });
}

/** Restores a single AVAILABLE database `data`. */
async function cleanUp(operation: string, db: string): Promise<void> {
  if (operation === "delete") await change(db, "POST", "/undelete");
  if (operation === "delete") await target.settles(db, "STOPPED");
  if (operation === "delete" || operation === "stop") await change(db, "POST", "/start");
  if (operation !== "create") return;
  await change(db, "DELETE", "?now=1");
  await endsAs(db, undefined);
}

async function idOf(db: string): Promise<string> {
  const known = ids.get(db);
  if (known !== undefined) return known;
  const [row] = await target.queryControl(`select id from control.databases where name = '${db}'`);
  const id = String(row?.[0] ?? "gone");
  ids = new Map(ids).set(db, id);
  return id;
}

/** Kills the victim while the server is paused, then resumes or restarts the server. */
async function strike(victim: FaultVictim, id: string): Promise<void> {
  if (victim === "server") {
    await target.server.kill();
    await target.server.start();
    return;
  }
  await eventually(
    () => {
      const pids = target.find(victim, id);
      expect(pids, `no ${victim} runs`).not.toEqual([]);
      expect(pids.map(kill)).toContain(true);
    },
    { timeout_ms: FIND_MS },
  );
  target.server.go();
}

/** Waits for the end of an operation, and checks that it has one row and one set of events. */
async function endsOnce(id: string): Promise<string> {
  const ended = await eventually(
    async () => {
      const { json } = await target.ask("GET", `/operations/${id}`);
      expect(json, JSON.stringify(json)).toMatchObject({
        state: expect.stringMatching(/^(succeeded|failed|cancelled)$/),
      });
      return json;
    },
    { timeout_ms: 60_000 },
  );
  if (ended.state === "failed") expect(ended.error.hint, JSON.stringify(ended)).toMatch(/cli db .*cloud:\/\/acme:/);
  const events = `select outcome from control.events where operation_id = '${id}' order by id`;
  const outcomes = await eventually(() => target.queryControl(events));
  expect(outcomes).toEqual([["pending"], [ended.state]]);
  return ended.state;
}

async function endsAs(db: string, state: string | undefined): Promise<void> {
  if (state !== undefined) await target.settles(db, state);
  else {
    await eventually(async () => expect((await target.insist("GET", `/databases/${db}`)).status).toBe(404), {
      timeout_ms: 60_000,
    });
  }
}

/** A schema is applied by the request itself; an interrupted caller sends it again. */
async function runSchemaCell({ step, victim }: Cell): Promise<string> {
  extra += 1;
  await target.update("data", await target.upload(faultApp(extra)));
  await target.settles("data", "AVAILABLE");
  const id = await idOf("data");
  const isFilling = () => target.queryData(id, "select 1 from appdb.jobs where state in ('pending', 'running')");
  let hasEnded = false;
  const applying = applySchema(target, "data")
    .catch((error: unknown) => `cut: ${String(error)}`)
    .finally(() => {
      hasEnded = true;
    });
  if (step === "done") await applying;
  // a short fill may end before it is seen
  const hasBegun = async () => expect(hasEnded || (await isFilling()).length > 0).toBe(true);
  if (step === "filling") await eventually(hasBegun, { interval_ms: 2, timeout_ms: FIND_MS });
  await strike(victim, id);
  const first = await applying;
  await target.settles("data", "AVAILABLE");
  let tries = 1;
  await eventually(
    async () => {
      tries += 1;
      const last = await applySchema(target, "data");
      expect(last).toContain('"done"');
    },
    { timeout_ms: 60_000, interval_ms: 200 },
  );
  const column = `extra_${extra - 1}`;
  await eventually(
    async () => expect(await target.queryData(id, `select 1 from docs where ${column} is null limit 1`)).toEqual([]),
    { timeout_ms: 60_000 },
  );
  await isSound();
  return first.includes('"done"') ? "done at once" : `cut, done after ${tries}`;
}

/** Checks that `data` responds with every acknowledged row and that no process is left over. */
async function isSound(): Promise<void> {
  const { id } = await target.settles("data", "AVAILABLE");
  const { acknowledged } = target.inserters.outcome;
  const before = acknowledged.size;
  await eventually(() => expect(acknowledged.size, "no row is answered any more").toBeGreaterThan(before), {
    timeout_ms: 60_000,
  });
  const wanted = [...acknowledged.keys()];
  const stored = new Set((await target.queryData(id, "select token from docs")).map(([token]) => token));
  expect(wanted.filter((token) => !stored.has(token))).toEqual([]);
  await eventually(() => expect(target.orphans([id])).toEqual([]), { timeout_ms: 60_000 });
}
