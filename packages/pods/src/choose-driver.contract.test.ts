import { openPodStage } from "@appdb/testkit/contracts/pod-driver-stage";
import { expect, test } from "vitest";
import { choosePodDriver } from "./choose-driver.ts";
import { createProcessPods } from "./driver/process-pods.ts";

const driver = {
  name: "process",
  module: "@appdb/pods/driver/process-pods",
  factory: "createProcessPods",
  ends_bare_daemons: false,
  kill_delays_ms: [],
  bounds_memory: false,
  bounds_tasks: false,
} as const;

test("ends a pod without limits when its server returns with an isolating driver", async () => {
  await using stage = openPodStage(driver);
  const pods = await stage.open();
  await pods.ensure(stage.spec(), AbortSignal.timeout(60_000));
  await stage.expectPrograms(1);
  const create = async () => ({ ...createProcessPods(stage.input), name: "sandbox" }) as const;
  const choice = { check: async () => [], create };
  const choices = { process: choice, sandbox: choice };
  const { input } = stage;
  await choosePodDriver("process", input, { ...choices, process: { ...choice, create: async () => pods } });
  expect(stage.programs()).toHaveLength(1);
  const chosen = await choosePodDriver("auto", input, choices);
  expect([await chosen.list({}), stage.programs()]).toEqual([[], []]);
});
