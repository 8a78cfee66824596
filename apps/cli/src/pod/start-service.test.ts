import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServiceSpec } from "@appdb/contract/service-spec";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Program } from "../program.ts";
import { startService } from "./start-service.ts";

/** Simulates a service process; the target of its spec selects the behaviour. */
const STAND_IN = `
import { readFileSync, statSync } from "node:fs";
const file = process.argv.at(-1);
const { target } = JSON.parse(readFileSync(file, "utf8"));
console.log("mode " + (statSync(file).mode & 0o777).toString(8));
if (target === "refuses") {
  process.send({ event: "failed", problem: { code: "port_taken", detail: "Port 1 is taken." } }, () => process.exit(1));
} else if (target === "crashes") {
  console.error("Traceback: no module named x");
  process.exit(7);
} else {
  process.on("SIGTERM", () => { console.log("stopped in order"); process.exit(0); });
  process.on("disconnect", () => process.exit(0));
  process.send({ event: "listening", address: "127.0.0.1", port: 4711 });
}
`;

let folder: string;
let program: Program;
let lines: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-start-service-"));
  const script = join(folder, "stand-in.mjs");
  writeFileSync(script, STAND_IN);
  program = { url: "", server: () => ({ file: "", argv: [""] }), pod: (args) => [process.execPath, script, ...args] };
  lines = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function start(target: string) {
  return startService(program, { target } as ServiceSpec, (line) => lines.push(line));
}

const specFolders = () => readdirSync(tmpdir()).filter((name) => name.startsWith("appdb-service-"));

describe("a service in the foreground", () => {
  test("listens, writes its log, stops and leaves no file", async () => {
    const before = specFolders();
    const running = start("main");
    expect(await running.ready).toEqual({ event: "listening", address: "127.0.0.1", port: 4711 });
    // a command killed now would leave none either
    expect(specFolders().filter((name) => !before.includes(name))).toEqual([]);
    await running.stop();
    expect(await running.ended).toBe(0);
    expect(lines).toEqual(["mode 600", "stopped in order"]);
    expect(specFolders().filter((name) => !before.includes(name))).toEqual([]);
  });

  test("reports why it refuses to start", async () => {
    const running = start("refuses");
    expect(await running.ready).toMatchObject({ event: "failed", problem: { code: "port_taken" } });
    expect(await running.ended).toBe(1);
  });

  test("that crashes early is reported with its last output", async () => {
    const running = start("crashes");
    expect(await running.ready).toEqual({
      event: "failed",
      problem: {
        code: "service_failed",
        detail: "The service did not start: it ended with code 7: Traceback: no module named x.",
      },
    });
  });

  test("whose program is missing is reported without throwing", async () => {
    program = { url: "", server: () => ({ file: "", argv: [""] }), pod: () => [join(folder, "nothing")] };
    expect(await start("main").ready).toMatchObject({
      event: "failed",
      problem: { detail: expect.stringContaining("ENOENT") },
    });
  });
});
