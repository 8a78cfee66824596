import type { Bench } from "./support/bench.ts";
import { runPgbench } from "./support/pgbench.ts";
import type { Measure } from "./support/report.ts";

const BODY = JSON.stringify({ title: "Hello from the benchmark", body: "A short text of a few words" });
const CONNECTIONS = [1, 16, 64];
/** The table whose inserts are also measured with an Idempotency-Key. */
const REPEATABLE = "cased";

/** The same row as SQL, so that PostgreSQL does the same work: key, text, computed text. */
const TABLES: Record<string, { columns: string; values: string }> = {
  plain: {
    columns: "_row, title, body",
    values: "uuidv7(), 'Hello from the benchmark', 'A short text of a few words'",
  },
  keyed: { columns: "id, title, body", values: "uuidv7(), 'Hello from the benchmark', 'A short text of a few words'" },
  cased: {
    columns: "id, title, body, title_upper",
    values:
      "uuidv7(), 'Hello from the benchmark', 'A short text of a few words', upper('Hello from the benchmark' collate pg_unicode_fast)",
  },
  shortened: {
    columns: "id, title, body, summary",
    values: "uuidv7(), 'Hello from the benchmark', 'A short text of a few words', 'A short text...'",
  },
};

const NAMES: Record<string, string> = {
  plain: "plain",
  keyed: "uuid7 key",
  cased: "uuid7 key, SQL-computed column",
  shortened: "uuid7 key, one UDF",
};

/** Measures every insert, the compute routes and their limits in turn. */
export async function measureInserts(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  const rates = new Map<string, number[]>();
  const keep = (key: string, rate: number) => rates.set(key, [...(rates.get(key) ?? []), rate]);
  const drive = async (key: string, url: string, connections: number) => {
    const result = await bench.load({ url, body: bodyFor(key), connections, seconds: bench.seconds });
    keep(`${key} ${connections}`, result.per_second);
  };
  for (let run = 1; run <= bench.runs; run += 1) {
    for (const connections of CONNECTIONS) {
      bench.say(`run ${run} of ${bench.runs}, ${connections} connections`);
      await drive("echo", `${served.echo}/echo`, connections);
      for (const table of Object.keys(TABLES)) await drive(table, `${served.service}/${table}`, connections);
      const url = `${served.service}/${REPEATABLE}`;
      const once = await bench.load({ url, body: BODY, connections, seconds: bench.seconds, with_keys: true });
      keep(`once ${connections}`, once.per_second);
      for (const route of ["upper", "summary"]) await drive(route, `${served.service}/${route}`, connections);
      for (const [table, { columns, values }] of Object.entries(TABLES)) {
        const statement = `insert into public.${table} (${columns}) values (${values})`;
        const rate = await runPgbench({ ...served, statement, clients: connections, seconds: bench.seconds });
        keep(`pgbench ${table} ${connections}`, rate);
      }
    }
  }
  return arrange(rates);
}

function bodyFor(key: string): string {
  if (key === "upper") return JSON.stringify({ title: "Hello from the benchmark" });
  if (key === "summary") return JSON.stringify({ body: "A short text of a few words" });
  return BODY;
}

function arrange(rates: ReadonlyMap<string, number[]>): Measure[] {
  const measures: Measure[] = [];
  for (const table of Object.keys(TABLES)) {
    for (const connections of CONNECTIONS) {
      const ours = rates.get(`${table} ${connections}`) ?? [];
      const name = `insert, ${NAMES[table]}, ${connections} conn.`;
      for (const [against, limit] of [
        ["Fastify echo", rates.get(`echo ${connections}`)],
        ["pgbench", rates.get(`pgbench ${table} ${connections}`)],
      ] as const) {
        const atLeast = reachOf(table, connections, against);
        const reach = atLeast === undefined ? {} : { reach: { at_least: atLeast } };
        measures.push({ name: `${name}, against ${against}`, unit: "/s", ours, limit, ...reach });
      }
    }
  }
  for (const connections of CONNECTIONS) {
    measures.push({
      name: `insert with Idempotency-Key, ${NAMES[REPEATABLE]}, ${connections} conn., against insert without`,
      unit: "/s",
      ours: rates.get(`once ${connections}`) ?? [],
      limit: rates.get(`${REPEATABLE} ${connections}`),
      ...(connections === 64 ? { reach: { at_least: 0.75 } } : {}),
    });
  }
  for (const [route, name] of [
    ["upper", "SQL column"],
    ["summary", "UDF"],
  ]) {
    for (const connections of CONNECTIONS) {
      measures.push({
        name: `compute, ${name}, ${connections} conn., against Fastify echo`,
        unit: "/s",
        ours: rates.get(`${route} ${connections}`) ?? [],
        limit: rates.get(`echo ${connections}`),
      });
    }
  }
  return measures;
}

function reachOf(table: string, connections: number, against: string): number | undefined {
  if (table === "cased" && connections === 64) return against === "pgbench" ? 1.1 : 0.85;
  if (table === "shortened" && connections === 64 && against === "Fastify echo") return 0.55;
  if (table !== "shortened" && connections === 1 && against === "pgbench") return 0.4;
  return undefined;
}
