import { servicePodHealthSchema } from "@appdb/contract/pod-spec";
import { VERSION } from "@appdb/contract/version";
import { LINK_VERSIONS } from "@appdb/pods/link/link";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { describeNext, judgeHealth } from "./lost-pods.ts";

test("the log says whether a lost pod is restarted or still running", () => {
  const pod = { pod_id: "db-1", reason: "it does not answer", pause_ms: 0 };
  expect(describeNext({ ...pod, is_running: true })).toBe("its pod is running, and will be ended if it stays silent");
  expect(describeNext(pod)).toBe("its pod will be restarted");
});

const SERVING = { version: VERSION, pid: 1, state: "ready", in_flight: 0, idle_ms: 0 };

test.each([
  ["ready", "of this version", { ...SERVING, link_versions: LINK_VERSIONS }],
  ["ready", "with a further link version", { ...SERVING, link_versions: [...LINK_VERSIONS, 99] }],
  ["replaced", "of another version", { ...SERVING, version: "0.8.0", link_versions: LINK_VERSIONS }],
  ["replaced", "of another link version", { ...SERVING, link_versions: [1] }],
  ["replaced", "that names no link version", SERVING],
])("counts as %s: a pod %s", async (verdict, _name, answer) => {
  const stopped: string[] = [];
  const driver = { stop: async (id: string) => void stopped.push(id) };
  const deps = { log: createSilentLog(), machine: { driver } as never };
  expect(await judgeHealth(deps, "svc-1", servicePodHealthSchema.parse(answer), 0)).toBe(verdict);
  expect(stopped).toEqual(verdict === "replaced" ? ["svc-1"] : []);
});
