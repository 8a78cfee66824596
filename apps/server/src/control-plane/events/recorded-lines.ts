import type { IncomingMessage } from "node:http";
import { type PodPlace, readLines } from "../../pods/pod-client.ts";

/** The lines by which a pod tells of its work, `progress` and then `done` or `error`; how it ended is written down before the last one is passed on. */
export async function* recordedLines(
  pod: PodPlace,
  answer: IncomingMessage,
  record: (outcome: "succeeded" | "failed") => Promise<void>,
): AsyncGenerator<object> {
  for await (const line of readLines(pod, answer)) {
    if (typeof line !== "object" || line === null || !("event" in line)) continue;
    if (line.event === "done") await record("succeeded");
    if (line.event === "error") await record("failed");
    yield line;
  }
}
