import { eventually } from "@appdb/testkit/eventually";
import { expect, test, vi } from "vitest";
import { enqueueReconcileDatabase } from "../queue/jobs.ts";
import { openServer } from "../testing/open-server.ts";
import { openReconcilerStage } from "../testing/reconciler-stage.ts";

test("a database stays awake and watched when the clock jumps, and delayed work is done", async () => {
  await using server = await openServer();
  const stage = await openReconcilerStage(server);
  await using _reconciler = await stage.start();
  await stage.settles("AVAILABLE");
  stage.machine.pods.say(stage.pod, { idle_ms: 1_000 });
  const hear = async (busy: string) => {
    stage.machine.pods.say(stage.pod, { busy });
    await eventually(async () => expect((await stage.see()).awake_because).toBe(busy), { timeout_ms: 10_000 });
  };
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
  try {
    await hear("1 connection");
    vi.setSystemTime(Date.now() - 90_000_000);
    await hear("2 connections");
    stage.machine.pods.end(stage.pod);
    await eventually(async () => expect(stage.machine.pods.starts(stage.pod)).toBe(2), { timeout_ms: 10_000 });
    await stage.settles("AVAILABLE");
  } finally {
    vi.useRealTimers();
  }
  const { operations } = await stage.see();
  expect(operations).toEqual(["database.provision succeeded"]);
  // simulates a job with a delay of a second after the clock was set back an hour
  await enqueueReconcileDatabase(server.deps.db, stage.id, 3_600);
  await stage.settles("AVAILABLE");
});
