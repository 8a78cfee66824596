/** Passes on how far a pod's work is, `progress` and then `done` or `error`; how it ended is written down before the last one is. */
export async function* recordedLines(
  events: AsyncIterable<object>,
  record: (outcome: "succeeded" | "failed") => Promise<void>,
): AsyncGenerator<object> {
  for await (const line of events) {
    if (!("event" in line)) continue;
    if (line.event === "done") await record("succeeded");
    if (line.event === "error") await record("failed");
    yield line;
  }
}
