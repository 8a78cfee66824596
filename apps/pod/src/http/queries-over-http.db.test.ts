import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { findCheckout } from "@appdb/testkit/postgres-binaries";
import { openQueriesStage } from "@appdb/testkit/queries-stage";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { serveEndpoints } from "./serve-endpoints.ts";

const run = promisify(execFile);

test("docs/queries-over-http.md works as it is printed, and its streams end with the service", async () => {
  const page = readFileSync(join(findCheckout(import.meta.dirname), "docs", "queries-over-http.md"), "utf8");
  const app = /<!-- app -->\n```python\n(.*?)```/s.exec(page)?.[1] ?? "";
  const examples = [...page.matchAll(/<!-- run -->\n```sh\n(.*?)```\n```text\n(.*?)```/gs)];
  expect(examples.length).toBeGreaterThan(4);
  await using stage = await openQueriesStage(app);
  const options = { host: "127.0.0.1", port: 0, log: createSilentLog(), body_bytes: 10_000 };
  const served = await serveEndpoints(stage.endpoints, options);
  for (const [, script = "", printed = ""] of examples) {
    const { stdout } = await run("bash", ["-c", script.replaceAll("localhost:8000", `127.0.0.1:${served.port}`)]);
    expect(stdout.replaceAll("\r", "")).toMatch(asPattern(printed));
  }
  const open = await fetch(`http://127.0.0.1:${served.port}/v1/in_room?room=lobby`, {
    headers: { accept: "text/event-stream" },
  });
  const text = open.text();
  await served[Symbol.asyncDispose]();
  expect(await text).toContain("event: result");
}, 60_000);

/** What is printed, `…` standing for anything within its line. */
function asPattern(printed: string): RegExp {
  const parts = printed.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^\\n]*?")}$`);
}
