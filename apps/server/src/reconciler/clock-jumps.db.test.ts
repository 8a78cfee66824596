import { eventually } from "@appdb/testkit/eventually";
import { expect, test, vi } from "vitest";
import { enqueueReconcileDatabase } from "../queue/jobs.ts";
import { openServer } from "../testing/open-server.ts";
import { openTestReconciler } from "../testing/test-reconciler.ts";

test("a database stays awake and watched when the clock jumps, and delayed work is done", async () => {
  await using server = await openServer();
  const setup = await openTestReconciler(server);
  await using _reconciler = await setup.start();
  await setup.settles("AVAILABLE");
  setup.machine.pods.say(setup.pod, { idle_ms: 1_000 });
  const hear = async (busy: string) => {
    setup.machine.pods.say(setup.pod, { busy });
    await eventually(async () => expect((await setup.see()).awake_because).toBe(busy));
  };
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
  try {
    await hear("1 connection");
    vi.setSystemTime(Date.now() - 90_000_000);
    await hear("2 connections");
    setup.machine.pods.end(setup.pod);
    await eventually(async () => expect(setup.machine.pods.starts(setup.pod)).toBe(2));
    await setup.settles("AVAILABLE");
  } finally {
    vi.useRealTimers();
  }
  const { operations } = await setup.see();
  expect(operations).toEqual(["database.provision succeeded"]);
  // simulates a job with a delay of a second after the clock was set back an hour
  await enqueueReconcileDatabase(server.deps.db, setup.id, 3_600);
  await setup.settles("AVAILABLE");
});
