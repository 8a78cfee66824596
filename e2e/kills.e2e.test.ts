import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import pg from "pg";
import { expect, test } from "vitest";
import { type Outcome, type Row, startInserters } from "./support/inserters.ts";
import { freePort, makePlace, type Place } from "./support/place.ts";
import { deal, findVictims, kill, seeded, VICTIMS, type Victim } from "./support/victims.ts";

const LONG = process.env.APPDB_FAULTS === "long";
const KILLS = LONG ? 500 : 50;
const CLIENTS = 20;
/** Rows that must be stored after each kill before the next: every fault strikes a service that works. */
const ROWS_BETWEEN = 20;
const HEAL_MS = 30_000;
const PAUSE_MS = 150;

const APP = `
import appdb as db
from appdb.functions import upper, uuid7
from appdb.serving import Router

@db.udf
def measure(text: str) -> int:
    return len(text)

class Events(db.model_base(), name="events"):
    id = db.Column(value=uuid7(), primary_key=True)
    token: db.String
    shout = upper(token)
    size = measure(token)

ingest = Router()
ingest.add_insert_route(Events, path="/events", inputs=[Events.token],
                        outputs=[Events.id, Events.token, Events.shout, Events.size])
`;

test(
  `no acknowledged row is lost or doubled by ${KILLS} kills of service, worker, daemon and PostgreSQL`,
  async () => {
    const seed = Number(process.env.APPDB_SEED ?? Date.now() % 1_000_000);
    const random = seeded(seed);
    await using place = makePlace();
    const port = await freePort();
    writeFileSync(join(place.project, "app.py"), APP);
    for (const args of [
      ["init"],
      ["schema", "update", "app.py", "main"],
      ["service", "update", "app.py", "main", "-f"],
    ]) {
      const more = args[0] === "service" ? ["--port", String(port)] : [];
      const done = await place.cli(...args, ...more);
      expect(done.code, done.stdout + done.stderr).toBe(0);
    }

    const inserters = startInserters(`http://127.0.0.1:${port}/events`, CLIENTS);
    const killed = new Map<Victim, number>();
    try {
      for (const victim of deal(KILLS, random)) {
        const stored = inserters.outcome.acknowledged.size;
        await strike(place, victim, random);
        killed.set(victim, (killed.get(victim) ?? 0) + 1);
        // a daemon is started by the next command, whichever it is
        if (victim === "daemon") expect((await place.cli("service", "list", "main")).code).toBe(0);
        await eventually(() => expect(inserters.outcome.acknowledged.size).toBeGreaterThan(stored + ROWS_BETWEEN), {
          timeout_ms: HEAL_MS,
        }).catch(async (error: unknown) => {
          const what = `Nothing was stored for ${HEAL_MS} ms after the end of a ${victim} (seed ${seed}).`;
          throw new Error(`${what}\n${await describePlace(place, inserters.outcome)}`, { cause: error });
        });
        await new Promise((resolve) => setTimeout(resolve, random() * PAUSE_MS));
      }
    } finally {
      await inserters.stop();
    }
    expect([...killed.values()].reduce((sum, count) => sum + count, 0)).toBe(KILLS);
    // the last victim may have been PostgreSQL
    const rows = await eventually(() => readRows(place), { timeout_ms: HEAL_MS });
    expectNothingLostOrDoubled(inserters.outcome, rows, seed);
  },
  LONG ? 3_600_000 : 240_000,
);

/** Kills one process of this kind; waits for one while the product is about to start it. */
async function strike(place: Place, victim: Victim, random: () => number): Promise<void> {
  await eventually(
    () => {
      const pids = findVictims(victim, place.home);
      expect(pids, `no ${victim} runs`).not.toEqual([]);
      expect(kill(pids[Math.floor(random() * pids.length)] as number)).toBe(true);
    },
    { timeout_ms: HEAL_MS },
  );
}

/** What a person would look at: services, processes, the last lines of every log, the last refusals. */
async function describePlace(place: Place, outcome: Outcome): Promise<string> {
  const logs = join(place.home, "logs");
  const files = readdirSync(logs, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".log"));
  const tails = files.map(
    (file) => `--- ${file}\n${readFileSync(join(logs, file), "utf8").split("\n").slice(-25).join("\n")}`,
  );
  const running = VICTIMS.map((kind) => `${kind}: ${findVictims(kind, place.home).join(" ")}`);
  const refusals = [...outcome.refused.values()].slice(-5).join(", ");
  const listed = await place.cli("service", "list");
  return [listed.stdout + listed.stderr, ...running, `refusals: ${refusals}`, ...tails].join("\n");
}

function expectNothingLostOrDoubled(outcome: Outcome, rows: readonly Row[], seed: number): void {
  const stored = new Map<string, Row[]>();
  for (const row of rows) stored.set(row.token, [...(stored.get(row.token) ?? []), row]);

  const lost = [...outcome.acknowledged].filter(([token]) => !stored.has(token)).map(([token]) => token);
  const doubled = [...stored].filter(([, copies]) => copies.length > 1).map(([token]) => token);
  const changed = [...outcome.acknowledged].filter(([token, row]) => !isSame(stored.get(token)?.[0], row));
  const lied = [...outcome.refused].filter(([token]) => stored.has(token));
  const unasked = [...stored.keys()].filter((token) => !wasSent(outcome, token));
  expect({ seed, lost, doubled, changed, lied, unasked }).toEqual({
    ...{ seed, lost: [], doubled: [], changed: [], lied: [], unasked: [] },
  });
  expect(outcome.acknowledged.size).toBeGreaterThan(KILLS * ROWS_BETWEEN);
}

function isSame(stored: Row | undefined, answered: Row): boolean {
  if (stored === undefined) return false;
  const columns = ["id", "token", "shout", "size"] as const;
  return columns.every((column) => stored[column] === answered[column]) && answered.size === [...answered.token].length;
}

function wasSent(outcome: Outcome, token: string): boolean {
  return outcome.acknowledged.has(token) || outcome.unknown.has(token) || outcome.refused.has(token);
}

/** Reads the table past everything of ours: by PostgreSQL's own protocol, from the running cluster's socket. */
async function readRows(place: Place): Promise<Row[]> {
  const clusters = join(place.home, "postgres");
  const file = readdirSync(clusters, { recursive: true, encoding: "utf8" }).find((path) =>
    path.endsWith("postmaster.pid"),
  );
  if (file === undefined) throw new Error("no PostgreSQL runs");
  const [, , , , socket] = readFileSync(join(clusters, file), "utf8").split("\n");
  const client = new pg.Client({ host: socket, user: "postgres", database: "main" });
  await client.connect();
  try {
    const { rows } = await client.query("select id, token, shout, size from events");
    return rows.map((row) => ({ ...row, size: Number(row.size) }));
  } finally {
    await client.end();
  }
}
