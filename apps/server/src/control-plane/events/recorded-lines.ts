/** Passes on `progress` lines of a pod, then `done` or `error`. Records the result before the last line. */
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
