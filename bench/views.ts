// Inserts into a table with a view over it, compared with the same table without one, and documents that a view splits,
// compared with the same work by hand.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";
import type { Bench } from "./support/bench.ts";
import { query } from "./support/psql.ts";
import type { Measure } from "./support/report.ts";
import { type ServedProject, time } from "./support/served-project.ts";
import { measureRebuilds } from "./view-rebuilds.ts";

const run = promisify(execFile);
const PYTHON = join(ROOT, ".tools", "bin", "python");
const CONNECTIONS = 64;
const SPLITTING = 16;
/** Of 20 kB; a chunk has up to 400 characters. */
const DOCUMENT = "A sentence of a document that has words to split at. ".repeat(378);
const DOCUMENTS = 500;
const ROW = JSON.stringify({ title: "Hello from the benchmark", stars: 5 });
const BODIES = { rated: ROW, viewed: ROW, documents: JSON.stringify({ body: DOCUMENT }) };
const TABLES = ["rated", "viewed", "documents"] as const;

/** Measures inserts below a filtered view, documents with their chunks, and a changed condition. */
export async function measureViews(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  const rates: Record<"rated" | "viewed" | "documents" | "copied", number[]> = {
    rated: [],
    viewed: [],
    documents: [],
    copied: [],
  };
  try {
    await query(served, "create table public.copied (document int, pos int, text text, text_upper text)");
    await query(served, "create index on public.copied (document, pos)");
    const load = (table: keyof typeof BODIES, seconds: number) => {
      const connections = table === "documents" ? SPLITTING : CONNECTIONS;
      return bench.load({ url: `${served.service}/${table}`, body: BODIES[table], connections, seconds });
    };
    // Connections and workers are open before the first run.
    for (const table of TABLES) await load(table, 1);
    for (let at = 1; at <= bench.runs; at += 1) {
      bench.say(`run ${at} of ${bench.runs}, views`);
      for (const table of TABLES) rates[table].push((await load(table, bench.seconds)).per_second);
      rates.copied.push(await splitAndCopy(served, folder));
    }
    await checkRows(served);
  } finally {
    await query(served, "drop table if exists public.copied");
    await rm(folder, { recursive: true, force: true });
  }
  return [
    {
      name: `insert into a table with a filtered view, ${CONNECTIONS} conn., against the table without`,
      unit: "/s",
      ours: rates.viewed,
      limit: rates.rated,
      reach: { at_least: 0.7 },
    },
    {
      name: `documents of 20 kB with their chunks, ${SPLITTING} conn., against splitting in Python and \\copy`,
      unit: "/s",
      ours: rates.documents,
      limit: rates.copied,
      reach: { at_least: 0.6 },
    },
    ...(await measureRebuilds(bench)),
  ];
}

/** Documents a second: one process splits them, then psql copies the finished rows. */
async function splitAndCopy(served: ServedProject, folder: string): Promise<number> {
  const [text, rows] = [join(folder, "document.txt"), join(folder, "rows.copy")];
  await writeFile(text, DOCUMENT);
  const args = [join(ROOT, "bench/support/split.py"), text, rows, String(DOCUMENTS)];
  const { stdout } = await run(PYTHON, args, { env: { ...process.env, PYTHONPATH: join(ROOT, "python") } });
  const statement = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", `\\copy public.copied from '${rows}'`, served.dsn];
  const copied = time(join(served.binaries, "psql"), statement, {}) / 1_000;
  return DOCUMENTS / (Number(stdout) + copied);
}

/** @throws unless the views have the values of all rows: what computes nothing is not to be compared */
async function checkRows(served: ServedProject): Promise<void> {
  const byHand = "(select max(pos) + 1 from public.copied) * (select count(*) from public.documents)";
  const chunks = await query(served, `select count(*) > 0 and count(text_upper) = ${byHand} from public.chunks`);
  if (chunks.trim() !== "t") throw new Error("documents have another number of chunks than by hand");
  const best = await query(served, `select count(*) > 0 and count(*) = count("best.title_upper") from public.viewed`);
  if (best.trim() !== "t") throw new Error("rows of the filtered view have no value");
}
