import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import type { TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { serveEvents } from "./support/events.ts";
import { type Outcome, type Row, startInserters } from "./support/inserters.ts";
import { query } from "./support/served.ts";
import { deal, findVictims, seeded, strike, VICTIMS, type Victim } from "./support/victims.ts";

const LONG = process.env.APPDB_FAULTS === "long";
const KILLS = LONG ? 500 : 20;
const CLIENTS = 20;
/** Rows stored between two kills: every fault hits a working service. */
const ROWS_BETWEEN = 20;
const HEAL_MS = 60_000;
const PAUSE_MS = 150;

test(
  `loses and doubles no acknowledged row in ${KILLS} kills of service, worker, daemon and PostgreSQL`,
  async () => {
    const seed = Number(process.env.APPDB_SEED ?? Date.now() % 1_000_000);
    const random = seeded(seed);
    await using served = await serveEvents();
    const { project, url } = served;
    const inserters = startInserters(url, CLIENTS);
    const killed = new Map<Victim, number>();
    try {
      for (const victim of deal(VICTIMS, KILLS, random)) {
        const stored = inserters.outcome.acknowledged.size;
        await strike(victim, project.home, random, HEAL_MS);
        killed.set(victim, (killed.get(victim) ?? 0) + 1);
        // any next command starts a daemon
        if (victim === "daemon") expect((await project.cli("service", "list", "main")).code).toBe(0);
        await eventually(() => expect(inserters.outcome.acknowledged.size).toBeGreaterThan(stored + ROWS_BETWEEN), {
          timeout_ms: HEAL_MS,
        }).catch(async (error: unknown) => {
          const what = `Nothing was stored for ${HEAL_MS} ms after the end of a ${victim} (seed ${seed}).`;
          throw new Error(`${what}\n${await describeProject(project, inserters.outcome)}`, { cause: error });
        });
        await new Promise((resolve) => setTimeout(resolve, random() * PAUSE_MS));
      }
    } finally {
      await inserters.stop();
    }
    expect([...killed.values()].reduce((sum, count) => sum + count, 0)).toBe(KILLS);
    // the last victim may have been PostgreSQL
    const rows = await eventually(() => readRows(project), { timeout_ms: HEAL_MS });
    expectNothingLostOrDoubled(inserters.outcome, rows, seed);
  },
  LONG ? 3_600_000 : 240_000,
);

/** Debugging information: services, processes, the last lines of every log, the last refusals. */
async function describeProject(project: TestProject, outcome: Outcome): Promise<string> {
  const logs = join(project.home, "logs");
  const files = readdirSync(logs, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".log"));
  const tails = files.map(
    (file) => `--- ${file}\n${readFileSync(join(logs, file), "utf8").split("\n").slice(-25).join("\n")}`,
  );
  const running = VICTIMS.map((kind) => `${kind}: ${findVictims(kind, project.home).join(" ")}`);
  const refusals = [...outcome.refused.values()].slice(-5).join(", ");
  const listed = await project.cli("service", "list");
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
    seed,
    lost: [],
    doubled: [],
    changed: [],
    lied: [],
    unasked: [],
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

async function readRows(project: TestProject): Promise<Row[]> {
  const rows = await query(project, "select id, token, shout, size from events");
  return rows.map(([id, token, shout, size]) => ({ id, token, shout, size: Number(size) }) as Row);
}
