// `npm run bench [-- --quick] [--only <group>]...`: compares the hot paths with their limits (bare HTTP, PostgreSQL, an
// empty Node process). Pairs are measured alternately in one run; the table shows medians with their spread. No test
// reads it.
import { parseArgs } from "node:util";
import { measureAlter } from "./alter.ts";
import { measureBigFile } from "./big-file.ts";
import { measureBulk } from "./bulk.ts";
import { measureCommands } from "./commands.ts";
import { measureControl } from "./control.ts";
import { measureDatabases, measureManyDatabases } from "./databases.ts";
import { measureEmbeddings } from "./embeddings.ts";
import { measureFunctions } from "./functions.ts";
import { measureInserts } from "./inserts.ts";
import { measureIterators } from "./iterators.ts";
import { measureKeys } from "./keys.ts";
import { measureLibrary } from "./library.ts";
import { measureLive } from "./live.ts";
import { measureMedia } from "./media.ts";
import { measureMemory } from "./memory.ts";
import { measureObjectStores } from "./object-stores.ts";
import { measureReads } from "./reads.ts";
import { measureRecompute } from "./recompute.ts";
import { measureServices } from "./services.ts";
import { measureShell } from "./shell.ts";
import { measureSize, printMachines } from "./size.ts";
import { type Group, openBench } from "./support/bench.ts";
import { type Measure, report } from "./support/report.ts";
import { measureTesting } from "./testing.ts";
import { measureViews } from "./views.ts";
import { measureWake } from "./wake.ts";
import { measureWrites } from "./writes.ts";

/** In order of execution and display; memory first, while the service is young. */
const GROUPS: Record<string, Group> = {
  memory: measureMemory,
  inserts: measureInserts,
  writes: measureWrites,
  views: measureViews,
  bulk: measureBulk,
  functions: measureFunctions,
  reads: measureReads,
  live: measureLive,
  library: measureLibrary,
  media: measureMedia,
  iterators: measureIterators,
  "object-stores": measureObjectStores,
  commands: measureCommands,
  shell: measureShell,
  keys: measureKeys,
  control: measureControl,
  "big-file": measureBigFile,
  alter: measureAlter,
  recompute: measureRecompute,
  embeddings: measureEmbeddings,
  wake: measureWake,
  databases: measureDatabases,
  "many-databases": measureManyDatabases,
  services: measureServices,
  testing: measureTesting,
  size: measureSize,
};

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, only: { type: "string", multiple: true } },
});
const unknown = values.only?.filter((name) => !(name in GROUPS)) ?? [];
if (unknown.length > 0) throw new Error(`No group ${unknown.join(", ")}; there are: ${Object.keys(GROUPS).join(", ")}`);

await using bench = await openBench({ quick: values.quick });
const print = (line: string) => process.stdout.write(`${line}\n`);
const measures: Measure[] = [];
const missed: string[] = [];
for (const [name, measure] of Object.entries(GROUPS)) {
  if (values.only?.includes(name) === false) continue;
  bench.say(`group ${name}`);
  const found = await measure(bench);
  // A group that fails loses no figures of earlier groups.
  print(`\n## ${name}\n`);
  missed.push(...report(found, print));
  measures.push(...found);
}
if (values.only?.includes("size") !== false) {
  print("");
  printMachines(measures, print);
}
const { name, cpu, failed } = bench.loader();
// Groups that load unix sockets, or by the clock, have their own loaders and count failures themselves.
const loaded = cpu === 0 ? "" : `Load by ${name}, which itself took up to ${cpu.toFixed(2)} of a core; `;
print(`\n${loaded}node ${process.version}.`);
print(
  `${cpu === 0 ? "" : `Requests that failed: ${failed}. `}${missed.length === 0 ? "Every target was reached." : `Missed: ${missed.join("; ")}.`}`,
);
