import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readManifest } from "./read-manifest.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-manifest-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Replaces the Python that reads an application by a script. */
function reading(script: string, signal?: AbortSignal) {
  const python = join(folder, "python");
  writeFileSync(python, `#!/bin/sh\n${script}\n`);
  chmodSync(python, 0o755);
  const runtime = { python, python_source: "test", library_paths: [], env: {}, project_root: folder };
  return readManifest({ runtime, app_file: "app.py", signal });
}

test("a file that signals its process group ends only itself", async () => {
  let heard = 0;
  const hear = () => {
    heard += 1;
  };
  process.on("SIGUSR2", hear);
  try {
    // 0 is the group of the calling process
    await expect(reading("kill -s USR2 0")).rejects.toMatchObject({
      code: "app_invalid",
      message: expect.stringContaining("signal SIGUSR2"),
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard).toBe(0);
  } finally {
    process.off("SIGUSR2", hear);
  }
});

test("ends processes that a file leaves behind", async () => {
  await expect(reading(`sleep 60 & echo $! > ${folder}/left; exit 1`)).rejects.toMatchObject({ code: "app_invalid" });
  const left = Number(readFileSync(join(folder, "left"), "utf8"));
  await expect.poll(() => isThere(left)).toBe(false);
});

test("an interrupted read ends everything that it started", async () => {
  const stop = new AbortController();
  const asked = reading(`sleep 60 & echo $! > ${folder}/one; mv ${folder}/one ${folder}/left; wait`, stop.signal);
  await expect.poll(() => existsSync(join(folder, "left"))).toBe(true);
  stop.abort();
  await expect(asked).rejects.toMatchObject({ code: "interrupted" });
  const left = Number(readFileSync(join(folder, "left"), "utf8"));
  await expect.poll(() => isThere(left)).toBe(false);
});

/** An unreaped zombie does not count as running. */
function isThere(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}
