// Figures for sizing a machine of the hosted service: the use of each part, and the resulting number of databases.
import { setTimeout as sleep } from "node:timers/promises";
import { buildSmallImage } from "./databases.ts";
import { MAIN, setDatabases } from "./hosted-databases.ts";
import type { Bench } from "./support/bench.ts";
import { BODY, setService } from "./support/hosted-service.ts";
import { loadWithProcess } from "./support/load.ts";
import type { Measure } from "./support/report.ts";
import { spread } from "./support/statistics.ts";

const CONNECTIONS = 64;
const LOAD_S = 5;
/** After this time without requests a service is certainly idle. */
const IDLE_MS = 120_000;
const QUICK_IDLE_MS = 5_000;
const MACHINES_GB = [2, 4, 8, 16, 32, 64];
/** For the system, for shared program pages, and for files that PostgreSQL reads. */
const LEFT_MB = 750;

const NAMES = {
  server: "server with its PostgreSQL and the gateway",
  idle: "idle database",
  sandboxed: "idle database in a sandbox",
  served: "idle database with one service",
  busy: "database whose service is inserted into as fast as it goes",
  asleep: "the same asleep",
  rate: `inserts a second by that service, ${CONNECTIONS} conn., through the gateway`,
  disk: "disk of an empty database",
  image: "disk of an image with one small package",
} as const;

/** Memory is private to each part, without shared program pages. */
export async function measureSize(bench: Bench): Promise<Measure[]> {
  const settle = () => sleep(bench.runs === 1 ? QUICK_IDLE_MS : IDLE_MS);
  const alone = await measureAlone("process", settle);
  const sandboxed = await measureAlone("sandbox", settle).catch((error: unknown) => {
    bench.say(`no sandbox is measured: ${error instanceof Error ? error.message : error}`);
    return undefined;
  });
  await using hosted = await setService();
  await hosted.insert();
  await settle();
  const young = await hosted.ownMemory();
  const load = { url: hosted.url, headers: hosted.headers, body: BODY, connections: CONNECTIONS, seconds: LOAD_S };
  const rates: number[] = [];
  for (let run = 0; run <= bench.runs; run += 1) {
    const { failed, per_second: perSecond } = await loadWithProcess(load);
    if (failed > 0) throw new Error(`${failed} inserts failed.`);
    // the first requests of a process are not representative
    if (run > 0) rates.push(perSecond);
  }
  const busy = await hosted.ownMemory();
  await hosted.putToSleep();
  const asleep = await hosted.ownMemory();
  const plain = (unit: string, ours: readonly number[]) => ({ unit, ours, limit: undefined });
  return [
    { name: NAMES.server, ...plain("MB", [young.server, busy.server]) },
    { name: NAMES.idle, ...plain("MB", [alone.memory]) },
    ...(sandboxed === undefined ? [] : [{ name: NAMES.sandboxed, ...plain("MB", [sandboxed.memory]) }]),
    { name: NAMES.served, ...plain("MB", [young.pods]) },
    { name: NAMES.busy, ...plain("MB", [busy.pods]) },
    { name: NAMES.asleep, ...plain("MB", [asleep.pods]) },
    { name: NAMES.rate, ...plain("/s", rates) },
    { name: NAMES.disk, ...plain("MB", [alone.disk]) },
    { name: NAMES.image, ...plain("MB", [alone.image]), digits: 1 },
  ];
}

async function measureAlone(driver: "process" | "sandbox", settle: () => Promise<void>) {
  await using hosted = await setDatabases(driver, 1);
  await hosted.timeCreation();
  await hosted.command("schema", "update", "app.py", MAIN);
  const disk = await hosted.diskOf();
  await settle();
  const { pods: memory } = await hosted.ownMemory();
  await buildSmallImage(hosted);
  return { disk, memory, image: await hosted.diskOfImages() };
}

/** Prints how many databases machines hold by memory, derived from the measures. */
export function printMachines(measures: readonly Measure[], write: (line: string) => void): void {
  const found = (name: string) => spread(measures.find((measure) => measure.name === name)?.ours ?? []).max;
  const parts = [found(NAMES.idle), found(NAMES.served), found(NAMES.busy)];
  write("| memory | idle databases | idle, with a service each | with a service at its most each |");
  write("|---|---|---|---|");
  for (const gb of MACHINES_GB) {
    const free = gb * 1_000 - LEFT_MB - found(NAMES.server);
    const counts = parts.map((part) => Math.max(0, Math.floor(free / part)));
    write(`| ${gb} GB | ${counts.join(" | ")} |`);
  }
}
