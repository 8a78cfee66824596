import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication } from "@appdb/testkit/test-application";
import { expect, test } from "vitest";
import { readPrintedExamples } from "../testing/printed-examples.ts";
import { serveEndpoints } from "./serve-endpoints.ts";

test("a live query ends with its service", async () => {
  const { app } = readPrintedExamples("queries-over-http.md");
  await using tested = await openTestApplication(app);
  const options = { host: "127.0.0.1", port: 0, log: createSilentLog(), body_bytes: 10_000 };
  const served = await serveEndpoints(tested.endpoints, options);
  const open = await fetch(`http://127.0.0.1:${served.port}/v1/in_room?room=lobby`, {
    headers: { accept: "text/event-stream" },
  });
  const text = open.text();
  await served[Symbol.asyncDispose]();
  expect(await text).toContain("event: result");
});
