import type { Bench } from "./support/bench.ts";
import { runPgbench } from "./support/pgbench.ts";
import { query } from "./support/psql.ts";
import type { Measure } from "./support/report.ts";

const ROWS = 10_000;
/** Number of different requests in turn. More than connections, so that concurrent changes of one row are rare. */
const DIFFERENT = 5_000;
const CONNECTIONS = [1, 64];
const ECHO_BODY = JSON.stringify({ title: "Hello from the benchmark", body: "A short text of a few words" });
/** Updates a random row of the same table with its computed column in one transaction. */
const UPDATE = `\\set k random(1, ${ROWS})
update public.stocked set n = :k, note = 'A short text of a few words', twice = :k * 2 where sku = :k`;

/** Measures updates of one row by key; concurrent requests update different rows. */
export async function measureWrites(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  await query(
    served,
    `insert into stocked (_row, sku, n, note, twice) select uuidv7(), i, i, 'note', i * 2 from generate_series(1, ${ROWS}) i`,
  );
  await query(
    served,
    `insert into renamed (_row, sku, body, summary) select uuidv7(), i, 'body', 'body' from generate_series(1, ${ROWS}) i`,
  );
  await query(served, "vacuum analyze stocked, renamed");
  const keys = Array.from({ length: DIFFERENT }, (_none, at) => ((at * 7_919) % ROWS) + 1);
  const text = "A short text of a few words";
  const stocked = keys.map((sku) => JSON.stringify({ sku, n: sku, note: text }));
  const renamed = keys.map((sku) => JSON.stringify({ sku, body: `${text}, number ${sku}` }));
  const rates = new Map<string, number[]>();
  const keep = (key: string, rate: number) => rates.set(key, [...(rates.get(key) ?? []), rate]);
  const drive = async (key: string, url: string, body: string | readonly string[], connections: number) =>
    keep(`${key} ${connections}`, (await bench.load({ url, body, connections, seconds: bench.seconds })).per_second);
  for (let run = 1; run <= bench.runs; run += 1) {
    for (const connections of CONNECTIONS) {
      bench.say(`run ${run} of ${bench.runs}, ${connections} connections`);
      await drive("echo", `${served.echo}/echo`, ECHO_BODY, connections);
      await drive("stocked", `${served.service}/stocked`, stocked, connections);
      await drive("renamed", `${served.service}/renamed`, renamed, connections);
      const pgbench = { ...served, statement: UPDATE, clients: connections, seconds: bench.seconds };
      keep(`pgbench ${connections}`, await runPgbench(pgbench));
    }
  }
  return CONNECTIONS.flatMap((connections): Measure[] => {
    const of = (key: string) => rates.get(`${key} ${connections}`);
    const name = `update by key, SQL-computed column, ${connections} conn.`;
    const reach = connections === 64 ? { reach: { at_least: 1 } } : {};
    return [
      { name: `${name}, against pgbench`, unit: "/s", ours: of("stocked") ?? [], limit: of("pgbench"), ...reach },
      { name: `${name}, against Fastify echo`, unit: "/s", ours: of("stocked") ?? [], limit: of("echo") },
      {
        name: `update by key, one UDF, ${connections} conn., against Fastify echo`,
        unit: "/s",
        ours: of("renamed") ?? [],
        limit: of("echo"),
      },
    ];
  });
}
