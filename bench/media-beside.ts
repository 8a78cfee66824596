// Rows whose files are at addresses, compared with the downloads alone, and inserts while files are uploaded.
import { execFile, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Bench } from "./support/bench.ts";
import { startOpenLoop } from "./support/open-loop.ts";
import type { Measure } from "./support/report.ts";

const run = promisify(execFile);
const CONNECTIONS = 16;
const UPLOADS = 64;
const INSERTS_PER_SECOND = 100;

interface Beside {
  readonly endpoint: string;
  readonly folder: string;
  /** Files that are uploaded and downloaded. */
  readonly picture: string;
  readonly film: string;
}

/** Measures rows per second with addresses of pictures, each read and decoded before it is stored. */
export async function measureAddresses(bench: Bench, { endpoint, folder, picture }: Beside): Promise<Measure> {
  const rows = bench.runs === 1 ? 1_000 : 10_000;
  const bare = fork(fileURLToPath(new URL("support/file-server.ts", import.meta.url)), [picture], {
    execArgv: process.execArgv,
  });
  const [ours, limit]: [number[], number[]] = [[], []];
  try {
    const [{ port }] = (await once(bare, "message")) as [{ port: number }];
    for (let at = 1; at <= bench.runs; at += 1) {
      bench.say(`run ${at} of ${bench.runs}, addresses of media`);
      const addresses = Array.from({ length: rows }, () => `http://127.0.0.1:${port}/${randomUUID()}.jpg`);
      limit.push(
        await rate(addresses, async (address) => {
          const answer = await fetch(address);
          await writeFile(join(folder, "downloaded.jpg"), Buffer.from(await answer.arrayBuffer()));
        }),
      );
      const began = performance.now();
      const headers = { "content-type": "application/x-ndjson" };
      const body = addresses.map((address) => `${JSON.stringify({ picture: address })}\n`).join("");
      const answer = await fetch(`${endpoint}/pictures`, { method: "POST", headers, body });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`the addresses were answered with ${answer.status}: ${text}`);
      ours.push(rows / ((performance.now() - began) / 1_000));
    }
  } finally {
    bare.disconnect();
  }
  const name = `insert of ${rows} rows with addresses of pictures, against downloading alone on ${CONNECTIONS} conn.`;
  return { name, unit: "/s", ours, limit, reach: { at_least: 0.7 } };
}

/** Measures the slowest hundredth of plain inserts at a constant rate, with and without uploads at the same time. */
export async function measureBesideUploads(bench: Bench, { endpoint, film }: Beside): Promise<Measure> {
  const load = {
    url: `${endpoint}/notes`,
    body: JSON.stringify({ text: "beside uploads" }),
    headers: { "content-type": "application/json" },
    per_second: INSERTS_PER_SECOND,
    connections: CONNECTIONS,
  };
  const p99During = async (work: () => Promise<unknown>): Promise<number> => {
    const loop = await startOpenLoop(load);
    await work();
    const { failed, first_failure: failure, p99_ms: p99 } = await loop.stop();
    if (failed > 0) throw new Error(`${failed} inserts beside uploads failed: ${failure}`);
    return p99;
  };
  const [ours, limit]: [number[], number[]] = [[], []];
  const milliseconds = bench.seconds * 2_000;
  for (let at = 1; at <= bench.runs; at += 1) {
    bench.say(`run ${at} of ${bench.runs}, inserts beside uploads`);
    limit.push(await p99During(() => new Promise((resolve) => setTimeout(resolve, milliseconds))));
    let until = 0;
    const upload = async (): Promise<void> => {
      while (performance.now() < until) await run("curl", ["-sf", "-F", `film=@${film}`, `${endpoint}/films`]);
    };
    const uploads = () => {
      until = performance.now() + milliseconds;
      return Promise.all(Array.from({ length: UPLOADS }, upload));
    };
    ours.push(await p99During(uploads));
  }
  const name = `p99 of ${INSERTS_PER_SECOND} inserts a second beside ${UPLOADS} uploads of 1 MB at once, against none`;
  return { name, unit: "ms", ours, limit, reach: { at_most: 2 } };
}

/** Calls per second, on all connections. */
async function rate(addresses: readonly string[], call: (address: string) => Promise<void>): Promise<number> {
  let next = 0;
  const began = performance.now();
  const lanes = Array.from({ length: CONNECTIONS }, async () => {
    for (let at = next++; at < addresses.length; at = next++) await call(addresses[at] ?? "");
  });
  await Promise.all(lanes);
  return addresses.length / ((performance.now() - began) / 1_000);
}
