import { openPodSetup } from "@appdb/testkit/contracts/pod-driver-setup";
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
  await using setup = openPodSetup(driver);
  const pods = await setup.open();
  await pods.ensure(setup.spec(), AbortSignal.timeout(60_000));
  await setup.expectPrograms(1);
  const create = async () => ({ ...createProcessPods(setup.input), name: "sandbox" }) as const;
  const choice = { check: async () => [], create };
  const choices = { process: choice, sandbox: choice };
  const { input } = setup;
  await choosePodDriver("process", input, { ...choices, process: { ...choice, create: async () => pods } });
  expect(setup.programs()).toHaveLength(1);
  const chosen = await choosePodDriver("auto", input, choices);
  expect([await chosen.list({}), setup.programs()]).toEqual([[], []]);
});
