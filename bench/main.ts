// `npm run bench [-- --quick]`: the hot paths against what limits them (bare HTTP, PostgreSQL, Node doing nothing), every
// pair measured in turn in one run, five runs, medians with their spread, as one table. No test reads it.
import { parseArgs } from "node:util";
import { measureCommands } from "./commands.ts";
import { measureInserts } from "./inserts.ts";
import { chooseLoader, type Loader } from "./load.ts";
import { type Measure, report } from "./report.ts";
import { type Stage, setStage } from "./stage.ts";

const MEMORY_ROWS = 100_000;

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const plan = values.quick ? { runs: 1, seconds: 2 } : { runs: 5, seconds: 3 };
const say = (line: string) => process.stderr.write(`${line}\n`);
const print = (line: string) => process.stdout.write(`${line}\n`);

const loader = await chooseLoader();
await using stage = await setStage();
say(`load by ${loader.name}`);
const memory = await measureMemory(stage, loader.load);
const inserts = await measureInserts(stage, loader.load, plan, say);
const commands = await measureCommands(stage, plan.runs);
const missed = report([...inserts.measures, ...commands, memory], print);
print(
  `\nLoad by ${loader.name}, which itself took up to ${inserts.loader_cpu.toFixed(2)} of a core; node ${process.version}.`,
);
print(
  `Requests that failed: ${inserts.failed}. ${missed.length === 0 ? "Every reach was reached." : `Missed: ${missed.join("; ")}.`}`,
);

/** Memory first, while the service is young: exactly what 100,000 inserts leave. */
async function measureMemory(of: Stage, load: Loader): Promise<Measure> {
  const body = JSON.stringify({ title: "Hello from the benchmark", body: "A short text of a few words" });
  let inserted = 0;
  while (inserted < MEMORY_ROWS) {
    const seconds = 3;
    const result = await load({ url: `${of.service}/shortened`, body, connections: 64, seconds });
    if (result.per_second < 1) throw new Error("the service answers no insert");
    inserted += result.per_second * seconds;
  }
  const name = "service and one worker after 100,000 inserts, PSS";
  return { name, unit: "MB", ours: [await of.memory()], limit: undefined, reach: { at_most: 150 } };
}
