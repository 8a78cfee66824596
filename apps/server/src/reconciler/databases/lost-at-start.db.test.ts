import { eventually } from "@appdb/testkit/eventually";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { openTestReconciler, type TestReconciler } from "../../testing/test-reconciler.ts";
import { startReconciler } from "../reconciler.ts";

let server: TestServer;
let setup: TestReconciler;
beforeEach(async () => {
  server = await openServer();
  setup = await openTestReconciler(server);
});
afterEach(() => server[Symbol.asyncDispose]());

test("a pod that ends between its first answer and the record that it serves is started again", async () => {
  const { machine, pod } = setup;
  const list = vi.spyOn(machine.driver, "list");
  const seenEnded = () =>
    list.mock.settledResults.filter(
      ({ type, value }) => type === "fulfilled" && value.some(({ id, state }) => id === pod && state === "exited"),
    ).length;
  let hasEnded = false;
  await using _reconciler = await startReconciler({
    ...server.deps,
    machine,
    pool_options: server.deps.pool.options,
    allow_private: false,
    async reconcileStepDone(step) {
      if (step !== "pod_ready" || hasEnded) return;
      hasEnded = true;
      machine.pods.end(pod);
      // the watch takes the end for a part of the start
      await eventually(() => expect(seenEnded()).toBeGreaterThan(2), { timeout_ms: 10_000 });
    },
  });
  await eventually(() => expect(machine.pods.starts(pod)).toBe(2), { timeout_ms: 10_000 });
  expect(await setup.settles("AVAILABLE")).toMatchObject({ restarts: 1, pods: [{ state: "READY" }] });
});
