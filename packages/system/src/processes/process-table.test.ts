import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { familyCpuMs } from "./process-table.ts";

test.runIf(process.platform === "linux")("includes the processor time of ended children", () => {
  const before = familyCpuMs(process.pid) ?? Number.NaN;
  // reads rarely: the reads count as system time, not user time
  const burn =
    "const until = process.cpuUsage().user + 200_000; while (process.cpuUsage().user < until) for (let i = 0; i < 1e6; i += 1);";
  spawnSync(process.execPath, ["-e", burn]);
  const usedMs = (familyCpuMs(process.pid) ?? Number.NaN) - before;
  expect(usedMs).toBeGreaterThanOrEqual(190);
  expect(familyCpuMs(process.pid)).toBeLessThan(before + 10_000);
});
