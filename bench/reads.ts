import type { Bench } from "./support/bench.ts";
import { query } from "./support/psql.ts";
import type { Measure } from "./support/report.ts";

const ROWS = 10_000;
/** Number of different requests in turn. With fewer than connections, equal requests would share their runs. */
const DIFFERENT = 500;
const ECHO_BODY = JSON.stringify({ title: "Hello from the benchmark", body: "A short text of a few words" });

/** Measures reads by key and lists of 100 rows; concurrent requests read different rows or pages. */
export async function measureReads(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  await query(
    served,
    `insert into listed (id, title, n, price, made_at, note)
     select uuidv7(), 'Title number ' || i, i, i * 1.25, '2024-01-01Z'::timestamptz + i * interval '1 microsecond',
       case when i % 3 = 0 then null else 'A short text of a few words' end from generate_series(1, ${ROWS}) i`,
  );
  await query(served, "vacuum analyze listed");
  const ids = (await query(served, `select id from listed order by random() limit ${DIFFERENT}`)).trim().split("\n");
  const points = ids.map((id) => JSON.stringify({ id }));
  const pages = Array.from({ length: DIFFERENT }, (_none, at) => JSON.stringify({ first: at * 17 }));
  const rates = new Map<string, number[]>();
  const drive = async (key: string, url: string, body: string | readonly string[], connections: number) => {
    const { per_second: perSecond } = await bench.load({ url, body, connections, seconds: bench.seconds });
    rates.set(key, [...(rates.get(key) ?? []), perSecond]);
  };
  for (let time = 1; time <= bench.runs; time += 1) {
    for (const connections of [1, 64]) {
      bench.say(`run ${time} of ${bench.runs}, ${connections} connections`);
      await drive(`echo ${connections}`, `${served.echo}/echo`, ECHO_BODY, connections);
      await drive(`point ${connections}`, `${served.service}/by_id`, points, connections);
      await drive(`memory ${connections}`, `${served.echo}/list`, pages, connections);
      await drive(`list ${connections}`, `${served.service}/listed`, pages, connections);
      await drive(`same ${connections}`, `${served.service}/listed`, pages[0] ?? "", connections);
    }
  }
  return [1, 64].flatMap((connections): Measure[] => {
    const of = (key: string) => rates.get(`${key} ${connections}`);
    const reach = (atLeast: number) => (connections === 64 ? { reach: { at_least: atLeast } } : {});
    const list = `list of 100 rows of 5 columns, ${connections} conn.`;
    return [
      {
        name: `point read by key, ${connections} conn., against Fastify echo`,
        unit: "/s",
        ours: of("point") ?? [],
        limit: of("echo"),
        ...reach(0.6),
      },
      {
        name: `${list}, against Fastify from memory`,
        unit: "/s",
        ours: of("list") ?? [],
        limit: of("memory"),
        ...reach(0.55),
      },
      { name: `${list}, the same for all, against the same`, unit: "/s", ours: of("same") ?? [], limit: of("memory") },
    ];
  });
}
