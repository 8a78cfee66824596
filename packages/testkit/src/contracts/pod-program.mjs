// Stands for the pod program in the suite of pod drivers: reads its input to the end, says so in a file, and does what it was told.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const text = readFileSync(0, "utf8");
const told = JSON.parse(text);
/** Longer than any test, but bounded: a killed test run does not end what it started. */
const LIFE_MS = 120_000;
const STAY = `setTimeout(() => {}, ${LIFE_MS})`;

const say = (msg, level = "info") =>
  appendFileSync(
    join(told.log_folder, "pod.log"),
    `${JSON.stringify({ level, time: new Date().toISOString(), pid: process.pid, msg })}\n`,
  );

/** A process that runs until it is killed, and can be told from others by its arguments. */
const stay = (options) =>
  spawn(process.execPath, ["-e", STAY, told.mark], { stdio: "ignore", env: process.env, ...options }).unref();

process.on("SIGTERM", () => {
  if (told.ignores_term) return;
  say("stopping");
  process.exit(told.stop_code ?? 0);
});

if (told.child) stay({});
if (told.session) stay({ detached: true });
if (told.daemon) {
  // twice removed: its parent ends at once, so that the system's first process has it
  const script = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(STAY)}, ${JSON.stringify(told.mark)}],
    { detached: true, stdio: "ignore", env: ${told.daemon === "bare" ? "{}" : "process.env"} }).unref()`;
  spawn(process.execPath, ["-e", script], { stdio: "ignore" });
}
for (const [path, target] of told.links ?? []) {
  rmSync(path, { recursive: true, force: true });
  symlinkSync(target, path);
}
if (told.prints) process.stdout.write(told.prints);
say("started");
writeFileSync(
  join(told.run_folder, "ready.json"),
  JSON.stringify({
    pid: process.pid,
    input_digest: createHash("sha256").update(text).digest("hex"),
    env: process.env,
    argv: process.argv.slice(2),
  }),
);
if (told.exit_code !== undefined) process.exit(told.exit_code);
if (told.allocates_mb !== undefined) {
  const kept = [];
  for (let count = 0; count < told.allocates_mb; count += 8) kept.push(Buffer.alloc(8 * 1024 * 1024, 1));
  say(`has ${kept.length * 8} MB`);
}
setTimeout(() => process.exit(9), LIFE_MS);
