import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, onTestFinished, test } from "vitest";
import type { PodExit, PodStatus } from "./pod-driver.ts";
import { type PodEvent, type ProbeAnswer, watchPods } from "./pod-keeper.ts";
import { readLastLines } from "./pod-log.ts";

const CRASH: PodExit = { code: 1, signal: null, is_out_of_memory: false, exceeded: null };

/** A keeper of simulated pods, with all of its events. */
function openKeeper() {
  const folder = mkdtempSync(join(tmpdir(), "keeper-"));
  const stopping = new AbortController();
  const stage = {
    folder,
    now: Date.parse("2026-03-01T10:00:00Z"),
    pods: [] as PodStatus[],
    answer: "ready" as ProbeAnswer,
    is_wanted: true,
    heard: [] as PodEvent[],
    stopped: [] as string[],
    asked: 0,
  };
  const events = watchPods(
    {
      driver: {
        list: async () => [...stage.pods],
        stop: async (id) => void stage.stopped.push(id),
        lastLines: (_log, since, count) => readLastLines(folder, since, count),
      },
      clock: { now: () => stage.now },
      log: createSilentLog(),
      probe: async () => {
        stage.asked += 1;
        return stage.answer;
      },
      isWanted: async () => stage.is_wanted,
      logOf: () => ({ database_id: "1", service_id: null }),
      look_ms: 5,
    },
    stopping.signal,
  );
  const watching = (async () => {
    for await (const event of events) stage.heard.push(event);
  })();
  onTestFinished(async () => {
    stopping.abort();
    await watching;
    rmSync(folder, { recursive: true });
  });
  return stage;
}

const STARTS = ["2026-03-01T10:00:00.000Z", "2026-03-01T10:05:00.000Z"];

function running(startedAt = STARTS[0] ?? ""): PodStatus {
  const labels = { organization_id: "org-1", database_id: "1", kind: "database" } as const;
  const state = { state: "running", pid: 4711, exit: null, memory_bytes: null } as const;
  return { id: "db-1", labels, spec_hash: "", started_at: startedAt, ...state };
}

const exited = (exit: PodExit, startedAt = STARTS[0] ?? ""): PodStatus => ({
  ...running(startedAt),
  state: "exited",
  pid: null,
  exit,
});

test("reports a pod ready once, when it first answers so", async () => {
  const stage = openKeeper();
  stage.answer = "starting";
  stage.pods = [running()];
  stage.answer = "ready";
  await eventually(() => expect(stage.heard).toEqual([{ event: "ready", database_id: "1", pod_id: "db-1" }]));
  stage.now += 10_000;
  stage.pods = [running(STARTS[1])];
  await eventually(() => expect(stage.heard).toHaveLength(2));
});

test("reports an ended pod as lost with its last lines", async () => {
  const stage = openKeeper();
  stage.pods = [running()];
  await eventually(() => expect(stage.heard).toHaveLength(1));
  writeFileSync(join(stage.folder, "pod.log"), '{"level":"error","time":"2026-03-01T10:00:01Z","msg":"no room"}\n');
  writeFileSync(join(stage.folder, "output.log"), "Error: it broke\n");
  stage.pods = [exited(CRASH)];
  await eventually(() => expect(stage.heard).toHaveLength(2));
  expect(stage.heard[1]).toMatchObject({
    event: "lost",
    is_running: false,
    pause_ms: 200,
    reason: "it ended with code 1 | no room | Error: it broke",
  });
});

test.each([
  ["old lines of a crashed pod", CRASH, "2026-03-01T09:58:00Z", "it ended with code 1"],
  [
    "lines of a killed pod",
    { ...CRASH, code: null, signal: "SIGKILL" },
    "2026-03-01T10:59:59Z",
    "it was ended by SIGKILL",
  ],
])("does not name %s as the reason of its end", async (_whose, exit, time, reason) => {
  const stage = openKeeper();
  stage.now = Date.parse("2026-03-01T11:00:00Z");
  stage.pods = [running("2026-03-01T09:00:00.000Z")];
  await eventually(() => expect(stage.heard).toHaveLength(1));
  writeFileSync(join(stage.folder, "pod.log"), `{"level":"warn","time":"${time}","msg":"a slow request"}\n`);
  stage.pods = [exited(exit, "2026-03-01T09:00:00.000Z")];
  await eventually(() => expect(stage.heard[1]).toMatchObject({ event: "lost", reason }));
});

test("reports a pod that its probe ended as replaced", async () => {
  const stage = openKeeper();
  stage.answer = "replaced";
  stage.pods = [running()];
  await eventually(() => expect(stage.asked).toBeGreaterThan(0));
  expect(stage.heard).toEqual([]);
  stage.pods = [exited({ ...CRASH, code: 0 })];
  await eventually(() =>
    expect(stage.heard).toMatchObject([
      { event: "lost", is_running: false, is_replaced: true, pause_ms: 0, reason: "it had another version" },
    ]),
  );
});

test("does not report a pod that was stopped on purpose", async () => {
  const stage = openKeeper();
  stage.pods = [running()];
  await eventually(() => expect(stage.heard).toHaveLength(1));
  stage.is_wanted = false;
  stage.pods = [exited(CRASH)];
  stage.pods.push({ ...running(STARTS[1]), id: "db-2", labels: { ...running().labels, database_id: "2" } });
  await eventually(() => expect(stage.heard.at(-1)).toMatchObject({ event: "ready", database_id: "2" }));
  expect(stage.heard.filter(({ event }) => event === "lost")).toEqual([]);
});

test("reports a pod that ended while unwatched as lost", async () => {
  const stage = openKeeper();
  stage.pods = [exited({ ...CRASH, code: null, signal: "SIGKILL", is_out_of_memory: true })];
  await eventually(() =>
    expect(stage.heard).toMatchObject([{ event: "lost", reason: "it needed more memory than its database has" }]),
  );
});

test("gives up a pod that ends repeatedly", async () => {
  const stage = openKeeper();
  for (let count = 0; count < 6; count++) {
    stage.now += 1_000;
    stage.pods = [exited(CRASH, new Date(stage.now).toISOString())];
    await eventually(() => expect(stage.heard).toHaveLength(count + 1));
  }
  expect(stage.heard.map(({ event }) => event)).toEqual([...Array(5).fill("lost"), "failed"]);
});

test("an unresponsive pod is lost, then ended, and ready when it answers again", async () => {
  const stage = openKeeper();
  stage.pods = [running()];
  await eventually(() => expect(stage.heard).toHaveLength(1));
  stage.answer = "starting";
  stage.now += 2_000;
  await eventually(() =>
    expect(stage.heard[1]).toMatchObject({ event: "lost", is_running: true, reason: "its PostgreSQL does not answer" }),
  );
  stage.answer = "ready";
  stage.now += 2_000;
  await eventually(() => expect(stage.heard[2]).toMatchObject({ event: "ready" }));
  stage.answer = "silent";
  await eventually(() => {
    stage.now += 1_000;
    expect(stage.heard[3]).toMatchObject({ event: "lost", is_running: true, reason: "it does not answer" });
  });
  await eventually(() => {
    stage.now += 5_000;
    expect(stage.stopped).toEqual(["db-1"]);
  });
});
