import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { serveEvents } from "./support/events.ts";
import { query } from "./support/served.ts";
import { deal, seeded, strike, type Victim } from "./support/victims.ts";

const LONG = process.env.APPDB_FAULTS === "long";
const ROWS = LONG ? 10_000 : 480;
const CLIENTS = 20;
/** Rows answered between two kills: every fault hits a working service. */
const ROWS_BETWEEN = LONG ? 60 : 40;
const KILLED: readonly Victim[] = ["service", "worker", "postgres", "backend"];
const HEAL_MS = 60_000;
const TIMEOUT_MS = 20_000;
const PAUSE_MS = 50;

test(
  `${ROWS} inserts with keys make exactly ${ROWS} rows despite kills`,
  async () => {
    const seed = Number(process.env.APPDB_SEED ?? Date.now() % 1_000_000);
    const random = seeded(seed);
    await using served = await serveEvents();
    const { project, url } = served;
    const load = startLoad(url);
    const killed: Victim[] = [];
    try {
      for (const victim of inRounds(Math.ceil(ROWS / ROWS_BETWEEN), random)) {
        if (load.answers.size >= ROWS) break;
        await strike(victim, project.home, random, HEAL_MS);
        killed.push(victim);
        const enough = Math.min(ROWS, load.answers.size + ROWS_BETWEEN);
        await eventually(() => expect(load.answers.size).toBeGreaterThanOrEqual(enough), { timeout_ms: HEAL_MS }).catch(
          (error: unknown) => {
            const last = [...load.refusals].slice(-5).join("; ");
            throw new Error(`No row was answered any more after the end of a ${victim} (seed ${seed}): ${last}`, {
              cause: error,
            });
          },
        );
      }
    } finally {
      load.stop();
    }
    await load.done;
    expect(killed.length).toBeGreaterThan(5);
    expect(new Set(killed).size).toBe(KILLED.length);
    const rows = await eventually(() => query(project, "select token, id, shout, size from events"), {
      timeout_ms: HEAL_MS,
    });
    const stored = new Map(rows.map(([token, ...values]) => [token, values.map(String)]));
    const wrong = [...load.answers].filter(([token, answer]) => String(stored.get(token)) !== String(answer));
    expect({ seed, rows: rows.length, tokens: stored.size, wrong }).toEqual({
      seed,
      rows: ROWS,
      tokens: ROWS,
      wrong: [],
    });
    expect(load.repeated()).toBeGreaterThan(0);
  },
  LONG ? 3_600_000 : 240_000,
);

/** At least that many victims; each round contains every kind equally often. */
function inRounds(kills: number, random: () => number): Victim[] {
  const rounds = Math.ceil(kills / KILLED.length);
  return Array.from({ length: rounds }, () => deal(KILLED, KILLED.length, random)).flat();
}

interface Load {
  /** The answered row of each token: id, shout and size. */
  readonly answers: ReadonlyMap<string, readonly string[]>;
  readonly refusals: ReadonlySet<string>;
  /** Number of repeated requests. */
  repeated(): number;
  stop(): void;
  readonly done: Promise<unknown>;
}

/** Starts clients that send each row with its own key until it is answered. */
function startLoad(url: string): Load {
  const answers = new Map<string, readonly string[]>();
  const refusals = new Set<string>();
  let next = 0;
  let repeated = 0;
  let going = true;
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (going && next < ROWS) {
      const token = `row ${next++} é€😀`;
      while (going) {
        const answer = await insert(url, token).catch((error: unknown) => String(error));
        if (typeof answer !== "string") {
          answers.set(token, answer);
          break;
        }
        refusals.add(answer);
        repeated += 1;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  });
  const stop = () => {
    going = false;
  };
  return { answers, refusals, repeated: () => repeated, stop, done: Promise.all(clients) };
}

/** One attempt: the answered values, or the reason for having none. */
async function insert(url: string, token: string): Promise<readonly string[] | string> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": encodeURIComponent(token) },
    body: JSON.stringify({ token }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const body = (await answer.json()) as Record<string, unknown>;
  if (answer.status !== 200) return `${answer.status} ${body.code}`;
  return [body.id, body.shout, body.size].map(String);
}
