import { expect, test } from "vitest";
import { describeNext } from "./lost-pods.ts";

test("the log says whether a lost pod is restarted or still running", () => {
  const pod = { pod_id: "db-1", reason: "it does not answer", pause_ms: 0 };
  expect(describeNext({ ...pod, is_running: true })).toBe("its pod is running, and will be ended if it stays silent");
  expect(describeNext(pod)).toBe("its pod will be restarted");
});
