// Many rows in one request, compared with psql's \copy of the same rows into the same table, and the memory that this
// takes.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";
import { type ServedProject, time } from "./support/served-project.ts";

const ROWS = 100_000;
const MANY = 1_000_000;

interface Case {
  readonly table: string;
  readonly name: string;
  /** Columns for COPY besides title and body, and a row's value. */
  readonly more: readonly [column: string, value: (row: number) => string][];
  readonly reach?: number;
}

const id = (row: number): string => `0190a3c4-0000-7000-8000-${row.toString(16).padStart(12, "0")}`;
const titleOf = (row: number): string => `Title of the row ${row}`;
const bodyOf = (row: number): string => `A short text of a few words, ${row} of them`;

const CASES: readonly Case[] = [
  { table: "keyed", name: "uuid7 key", more: [["id", id]], reach: 0.5 },
  {
    table: "cased",
    name: "uuid7 key, SQL-computed column",
    more: [
      ["id", id],
      ["title_upper", (row) => titleOf(row).toUpperCase()],
    ],
  },
];

/**
 * Measures rows per second of one NDJSON body, and the service's peak memory for a hundred thousand and a million rows.
 */
export async function measureBulk(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  try {
    const lines = join(folder, "rows.ndjson");
    await writeLines(lines, ROWS);
    const measures: Measure[] = [];
    for (const one of CASES) measures.push(...(await compare(bench, served, one, { folder, lines })));
    const few = await peak(served, lines);
    const many = join(folder, "many.ndjson");
    await writeLines(many, MANY);
    const name = `memory at its peak, ${MANY} rows in a request against ${ROWS}`;
    const ours = [await peak(served, many)];
    return [...measures, { name, unit: "MB", ours, limit: [few], reach: { at_most: 1.25 } }];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function compare(
  bench: Bench,
  served: ServedProject,
  { table, name, more, reach }: Case,
  { folder, lines }: { readonly folder: string; readonly lines: string },
): Promise<Measure[]> {
  const columns = ["title", "body", ...more.map(([column]) => column)].join(", ");
  const rows = join(folder, `${table}.copy`);
  const row = (at: number) => [titleOf(at), bodyOf(at), ...more.map(([, value]) => value(at))].join("\t");
  await writeFile(rows, `${Array.from({ length: ROWS }, (_, at) => row(at)).join("\n")}\n`);
  const psql = join(served.binaries, "psql");
  const statement = (text: string) => ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", text, served.dsn];
  const rates: Record<"copy" | "answered" | "minimal", number[]> = { copy: [], answered: [], minimal: [] };
  const empty = () => time(psql, statement(`truncate public.${table}`), {});
  for (let run = 1; run <= bench.runs; run += 1) {
    bench.say(`run ${run} of ${bench.runs}, many rows into ${table}`);
    empty();
    const copy = statement(`\\copy public.${table} (${columns}) from '${rows}'`);
    rates.copy.push(rate(time(psql, copy, {})));
    for (const prefer of ["", "return=minimal"]) {
      empty();
      rates[prefer === "" ? "answered" : "minimal"].push(rate(await send(served, `/${table}`, lines, prefer)));
    }
  }
  const limit = rates.copy;
  const reached = reach === undefined ? {} : { reach: { at_least: reach } };
  const title = `${ROWS} rows in a request, ${name}`;
  return [
    { name: `${title}, against \\copy`, unit: "rows/s", ours: rates.answered, limit, ...reached },
    { name: `${title}, return=minimal, against \\copy`, unit: "rows/s", ours: rates.minimal, limit },
  ];
}

function rate(ms: number): number {
  return (ROWS / ms) * 1_000;
}

/** Milliseconds of one request that sends a file, from a separate process like psql. */
async function send(served: ServedProject, path: string, file: string, prefer: string): Promise<number> {
  const child = fork(new URL("./support/send-file.ts", import.meta.url), { execArgv: process.execArgv });
  try {
    child.send({ url: served.service + path, file, prefer });
    const [answer] = (await once(child, "message")) as [{ status: number; ms: number; text: string }];
    if (answer.status !== 200) throw new Error(`the service answered ${answer.status}: ${answer.text}`);
    return answer.ms;
  } finally {
    child.disconnect();
  }
}

/** The most that the service's process had at a time while it took a file, in MB. */
async function peak(served: ServedProject, file: string): Promise<number> {
  await writeFile(`/proc/${served.pid}/clear_refs`, "5");
  await send(served, "/keyed", file, "");
  const status = await readFile(`/proc/${served.pid}/status`, "utf8");
  const peak = /^VmHWM:\s+(\d+) kB/m.exec(status)?.[1];
  if (peak === undefined) throw new Error(`/proc/${served.pid}/status names no peak`);
  return Number(peak) / 1_000;
}

async function writeLines(file: string, rows: number): Promise<void> {
  const out = createWriteStream(file);
  for (let at = 0; at < rows; at += 1) {
    const line = `${JSON.stringify({ title: titleOf(at), body: bodyOf(at) })}\n`;
    if (!out.write(line)) await once(out, "drain");
  }
  out.end();
  await once(out, "finish");
}
