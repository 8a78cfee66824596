import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { familyCpuMs } from "./process-table.ts";

test.runIf(process.platform === "linux")(
  "a process's time of processors has that of its children that have ended",
  () => {
    const before = familyCpuMs(process.pid) ?? Number.NaN;
    // it looks seldom: the look itself is the system's time, not the user's
    const burn =
      "const until = process.cpuUsage().user + 200_000; while (process.cpuUsage().user < until) for (let i = 0; i < 1e6; i += 1);";
    spawnSync(process.execPath, ["-e", burn]);
    const usedMs = (familyCpuMs(process.pid) ?? Number.NaN) - before;
    expect(usedMs).toBeGreaterThanOrEqual(190);
    expect(familyCpuMs(process.pid)).toBeLessThan(before + 10_000);
  },
);
