import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type TaskWatch, watchTask } from "./task-watch.ts";

const LIMITS = { cpu: 1, memory_mb: 64, tasks: 10, timeout_ms: 60_000, disk_bytes: 1024 ** 4, files: 100 };

test("ends a task that exceeds its file limit with small files", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-watch-"));
  try {
    const begin = async (name: string, end: () => void) => {
      mkdirSync(join(folder, name, "below"), { recursive: true });
      return await watchTask({ folders: [{ path: join(folder, name), mode: "write" }], limits: LIMITS }, end);
    };
    const make = (name: string, count: number) => {
      for (let at = 0; at < count; at += 1) writeFileSync(join(folder, name, "below", String(at)), "");
    };
    const good = await begin("good", () => expect.unreachable());
    make("good", 90);
    expect(await good.finish()).toBe(null);
    let bad: TaskWatch | undefined;
    await new Promise<void>((resolve) => {
      void begin("bad", resolve).then((watch) => {
        bad = watch;
        make("bad", 200);
      });
    });
    expect(await bad?.finish()).toBe("files");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
