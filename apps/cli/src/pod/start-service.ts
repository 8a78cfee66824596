import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type ServiceMessage, type ServiceSpec, serviceMessageSchema } from "@appdb/contract/service-spec";
import { endChild } from "@appdb/system/processes/end-process";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import type { RunningService } from "../context.ts";
import type { Program } from "../program.ts";

const END_STEPS = [
  // longer than a service needs to finish its requests
  { signal: "SIGTERM", wait_ms: 12_000 },
  { signal: "SIGKILL", wait_ms: 5_000 },
] as const;
const LAST_LINES = 5;

/**
 * Starts a service in the foreground. Its spec goes through a private file, which it removes after reading, because
 * others can see arguments and environments. `onLine` gets its output by line. When the command is killed, the broken
 * channel ends the service.
 */
export function startService(program: Program, spec: ServiceSpec, onLine: (line: string) => void): RunningService {
  const folder = mkdtempSync(join(tmpdir(), "appdb-service-"));
  const file = join(folder, "spec.json");
  writePrivateFile(file, JSON.stringify(spec));
  const [command, ...args] = program.pod(["service", file]);
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    // A separate process group: Ctrl-C reaches only this command, which then stops the service.
    detached: true,
    windowsHide: true,
  });
  const last: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on("line", (line) => {
      if (!isAlwaysPrinted(line)) onLine(line);
      if (stream !== child.stderr) return;
      last.push(line);
      last.splice(0, last.length - LAST_LINES);
    });
  }
  const removeSpec = () => rmSync(folder, { recursive: true, force: true });
  const ended = new Promise<number | null>((resolve) => {
    child.once("error", (error) => {
      last.push(error.message);
      resolve(1);
    });
    child.once("close", (code) => resolve(code));
  }).finally(removeSpec);
  const ready = new Promise<ServiceMessage>((resolve) => {
    child.on("message", (message) => {
      const parsed = serviceMessageSchema.safeParse(message);
      if (parsed.success) resolve(parsed.data);
    });
    void ended.then((code) => resolve(endedEarly(code, last)));
  });
  // its first message shows that the file was read, so a command killed later leaves no folder
  void ready.then(removeSpec);
  return {
    ready,
    ended,
    stop: async () => {
      await endChild(child, END_STEPS);
      await ended;
    },
  };
}

/**
 * The last line of a service that could not start, which the command prints as its own error. Internal errors have
 * their stack here.
 */
function isAlwaysPrinted(line: string): boolean {
  return line.endsWith('"msg":"service failed"}') && !line.includes('"code":"internal_error"');
}

/** Error of a service that ended before it could report one. */
function endedEarly(code: number | null, last: readonly string[]): ServiceMessage {
  const how = code === null ? "it was killed" : `it ended with code ${code}`;
  const lastLines = last.length === 0 ? "" : `: ${last.join("; ")}`;
  return {
    event: "failed",
    problem: { code: "service_failed", detail: `The service did not start: ${how}${lastLines}.` },
  };
}
