import { expect, test } from "vitest";
import { buildFailure } from "./build-failure.ts";

const limits = { cpu: 1, memory_mb: 512, disk_bytes: 1e9, files: 1_000, tasks: 100, timeout_ms: 60_000 };
const exit = { code: 2, signal: null, is_out_of_memory: false, exceeded: null };

test("a build that does not reach its index names the operator's setting", () => {
  const said =
    "error: Failed to fetch: `https://index.internal/simple/`\n  Caused by: dns error: failed to lookup address";
  const { hint } = buildFailure({ exit, said, building: undefined, python: "3.12.8", limits });
  expect(hint).toContain("SERVICE_BUILD_HOSTS");
});
