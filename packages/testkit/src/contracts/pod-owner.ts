import type { LocalDriver } from "@appdb/pods/driver/local-driver";
import type { PodSpec } from "@appdb/pods/driver/pod-driver";
import type { PodTask } from "@appdb/pods/driver/task-runner";
import { Secret } from "@appdb/system/secret";
import { createSilentLog } from "../silent-log.ts";
import { createTestLayout } from "./test-layout.ts";

/** A separate process with a driver, which the suite kills. Its only argument is a PodOwnerInput; each printed line
 *  is a step. */
export interface PodOwnerInput {
  readonly module: string;
  readonly factory: string;
  /** Where its volumes lie. */
  readonly home: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** A pod to ensure, with `input` as text; or a task to run, whose lines are printed. */
  readonly spec?: Omit<PodSpec, "input"> & { readonly input: string };
  readonly task?: Omit<PodTask, "onLine">;
}

const owned = JSON.parse(process.argv[2] ?? "") as PodOwnerInput;
const made = (await import(owned.module)) as Record<string, (input: object) => LocalDriver | Promise<LocalDriver>>;
const pods = await made[owned.factory]?.({
  ...owned.options,
  layout: createTestLayout(owned.home),
  log: createSilentLog(),
  clock: { now: Date.now },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
const signal = AbortSignal.timeout(60_000);
say("begins");
if (owned.spec !== undefined) await pods?.ensure({ ...owned.spec, input: new Secret(owned.spec.input) }, signal);
if (owned.task !== undefined) await pods?.run({ ...owned.task, onLine: say }, signal);
say("done");
