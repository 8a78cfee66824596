import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { guardScratch } from "./scratch-guard.ts";

/** Fills a file that it has deleted, and keeps it open. */
const FILL = 'exec 3>"$0/filled"; rm "$0/filled"; dd if=/dev/zero bs=1M count=96 >&3 2>/dev/null; sleep 60; exit 1';
/** Fills a file that it has deleted, and keeps it in a socket that it does not read. */
const SEND = `
import os, socket, sys, time
file = os.open(sys.argv[1] + "/filled", os.O_CREAT | os.O_RDWR)
os.unlink(sys.argv[1] + "/filled")
pair = socket.socketpair()
socket.send_fds(pair[0], [b"x"], [file])
os.write(file, bytes(96 << 20))
os.close(file)
time.sleep(60)
`;
const PYTHON = join(import.meta.dirname, "../../../../.tools/bin/python");

test.runIf(process.platform === "linux").each([
  ["fills a deleted file", "sh", "/bin/sh", FILL],
  ["keeps a deleted file in a socket", "python", PYTHON, SEND],
])("ends code that %s, and empties its folder", async (_name, program, path, source) => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-scratch-"));
  const kept = mkdtempSync(join(tmpdir(), "appdb-kept-"));
  writeFileSync(join(kept, "file"), "kept");
  symlinkSync(kept, join(folder, "link"));
  using _guard = guardScratch({ folder, max_bytes: 8_000_000, log: createSilentLog(), program });
  const code = spawn(path, ["-c", source, folder], { stdio: "ignore" });
  const ended = new Promise((resolve) => code.once("exit", (_code, signal) => resolve(signal)));
  try {
    expect(await ended).toBe("SIGKILL");
    await expect.poll(() => readdirSync(folder)).toEqual([]);
    expect(existsSync(join(kept, "file"))).toBe(true);
  } finally {
    code.kill("SIGKILL");
    for (const path of [folder, kept]) rmSync(path, { recursive: true });
  }
});
