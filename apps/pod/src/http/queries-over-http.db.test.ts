import { openQueriesStage } from "@appdb/testkit/queries-stage";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { readPrintedExamples, runPrinted } from "../testing/printed-examples.ts";
import { serveEndpoints } from "./serve-endpoints.ts";

test.each([
  ["queries-over-http.md", 5],
  ["many-rows.md", 6],
])(
  "docs/%s works as it is printed",
  async (name, least) => {
    const { app, examples } = readPrintedExamples(name);
    expect(examples.length).toBeGreaterThanOrEqual(least);
    await using stage = await openQueriesStage(app);
    const options = { host: "127.0.0.1", port: 0, log: createSilentLog(), body_bytes: 10_000 };
    await using served = await serveEndpoints(stage.endpoints, options);
    for (const example of examples) expect(await runPrinted(example, served.port)).toMatch(example.printed);
  },
  60_000,
);

test("a live query ends with its service", async () => {
  const { app } = readPrintedExamples("queries-over-http.md");
  await using stage = await openQueriesStage(app);
  const options = { host: "127.0.0.1", port: 0, log: createSilentLog(), body_bytes: 10_000 };
  const served = await serveEndpoints(stage.endpoints, options);
  const open = await fetch(`http://127.0.0.1:${served.port}/v1/in_room?room=lobby`, {
    headers: { accept: "text/event-stream" },
  });
  const text = open.text();
  await served[Symbol.asyncDispose]();
  expect(await text).toContain("event: result");
}, 60_000);
