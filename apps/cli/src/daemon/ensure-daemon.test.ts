import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@appdb/contract/errors";
import { VERSION } from "@appdb/contract/version";
import { identifyProcess } from "@appdb/system/processes/process-identity";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Program } from "../program.ts";
import { type EnsureDaemonDeps, ensureDaemon, findDaemon, waitUntilGone } from "./ensure-daemon.ts";
import { endHungDaemon } from "./hung-daemon.ts";

/**
 * A program that behaves like the real daemon towards the command: one per home, daemon.json and token once it listens,
 * health and stop behind the token. Variables control its behaviour.
 */
const STAND_IN = `
import { createServer } from "node:http";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
mkdirSync(process.env.SERVICE_HOME + "/seen/" + process.pid, { recursive: true });
const { SERVICE_HOME: home, STAND_IN_VERSION: version = "${VERSION}", STAND_IN_BUSY: busy = "0", STAND_IN_FAILS: fails } = process.env;
if (fails) {
  process.stderr.write("error: PostgreSQL is not there.\\nhint: Install it.\\n");
  process.exit(1);
}
try { mkdirSync(home + "/lock"); } catch { process.exit(0); }
writeFileSync(home + "/starts", (existsSync(home + "/starts") ? readFileSync(home + "/starts", "utf8") : "") + process.pid + "\\n");
writeFileSync(home + "/daemon.token", "secret\\n");
const end = () => { rmSync(home + "/daemon.json", { force: true }); rmSync(home + "/lock", { recursive: true }); process.exit(0); };
process.on("SIGTERM", end);
const server = createServer((request, response) => {
  if (request.headers.authorization !== "Bearer secret") return response.writeHead(401).end('{"code":"unauthorized","detail":"x"}');
  const health = { version, pid: process.pid, home, started_at: "", postgres: "up", busy: Number(busy), services: Number(busy) };
  response.end(JSON.stringify(request.url === "/v1/health" ? health : {}), () => request.url === "/v1/stop" && end());
});
server.listen(0, "127.0.0.1", () => {
  const file = { pid: process.pid, port: server.address().port, started_at: "", version };
  writeFileSync(home + "/daemon.json", JSON.stringify(file));
});
`;

let home: string;
let program: Program;
let spawned: number;
const notes: string[] = [];
const never = new AbortController().signal;

beforeEach(() => {
  // A home with a space and non-ASCII letters must work too.
  home = mkdtempSync(join(tmpdir(), "appdb hömé "));
  const script = join(home, "stand-in.mjs");
  writeFileSync(script, STAND_IN);
  spawned = 0;
  program = {
    url: "",
    server: () => ({ file: "", argv: [""] }),
    pod: (args) => {
      spawned += 1;
      return [process.execPath, script, ...args];
    },
  };
  notes.length = 0;
});

/** Also ends a daemon that starts late and finds the home free. */
afterEach(async () => {
  const seen = join(home, "seen");
  const pids = () => (existsSync(seen) ? readdirSync(seen).map(Number) : []);
  await expect.poll(() => pids().length).toBe(spawned);
  for (const pid of pids()) {
    try {
      process.kill(pid, "SIGTERM");
    } catch (error) {
      expect(error).toMatchObject({ code: "ESRCH" });
    }
    await waitUntilGone(pid);
  }
  rmSync(home, { recursive: true, force: true });
});

function deps(env: Record<string, string> = {}): EnsureDaemonDeps {
  return {
    config: { home, daemon_env: { ...(process.env as Record<string, string>), ...env } },
    program,
    note: (text) => notes.push(text),
  };
}

async function refusal(work: Promise<unknown>): Promise<AppError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("was accepted");
}

const starts = () => readFileSync(join(home, "starts"), "utf8").trim().split("\n").length;

describe("the home's daemon", () => {
  test("is started by the first command and found by the next", async () => {
    expect(await findDaemon(deps())).toBeUndefined();
    const client = await ensureDaemon(deps(), never);
    expect((await client.call("health", {})).home).toBe(home);
    await ensureDaemon(deps(), never);
    expect(starts()).toBe(1);
  });

  test("is started once by concurrent commands", async () => {
    const clients = await Promise.all(Array.from({ length: 12 }, () => ensureDaemon(deps(), never)));
    const pids = await Promise.all(clients.map(async (client) => (await client.call("health", {})).pid));
    expect(new Set(pids).size).toBe(1);
  });

  test("is restarted after a kill despite its file", async () => {
    await ensureDaemon(deps(), never);
    const killed = (await findDaemon(deps()))?.file.pid ?? 0;
    process.kill(killed, "SIGKILL");
    await waitUntilGone(killed);
    rmSync(join(home, "lock"), { recursive: true });
    const client = await ensureDaemon(deps(), never);
    expect((await client.call("health", {})).pid).not.toBe(killed);
  });

  test("counts as missing when its file is incomplete", async () => {
    writeFileSync(join(home, "daemon.json"), '{"pid": 1');
    expect(await findDaemon(deps())).toBeUndefined();
    await ensureDaemon(deps(), never);
  });

  test("of the original is not used by a copy of the home", async () => {
    const original = await ensureDaemon(deps(), never);
    const copy = `${home} copy`;
    onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
    cpSync(home, copy, { recursive: true, filter: (path) => !/lock$|seen$/.test(path) });
    const config = { ...deps().config, home: copy };
    expect(await findDaemon({ config })).toBeUndefined();
    const own = await ensureDaemon({ ...deps(), config }, never);
    const { home: found, pid } = await own.call("health", {});
    expect(found).toBe(copy);
    expect((await original.call("health", {})).home).toBe(home);
    process.kill(pid, "SIGTERM");
    await waitUntilGone(pid);
    spawned -= 1;
  });

  test("that cannot start is reported with its output and hint", async () => {
    const error = await refusal(ensureDaemon(deps({ STAND_IN_FAILS: "1" }), never));
    expect(error.code).toBe("daemon_failed");
    expect(error.message).toContain("exit code 1");
    expect(error.message).toContain("error: PostgreSQL is not there.");
    expect(error.hint).toBe("Install it.");
  });

  test("of an older version is replaced with a note when idle", async () => {
    const older = await ensureDaemon(deps({ STAND_IN_VERSION: "0.8.0" }), never);
    const pid = (await older.call("health", {})).pid;
    const newer = await ensureDaemon(deps(), never);
    expect((await newer.call("health", {})).version).toBe(VERSION);
    expect((await newer.call("health", {})).pid).not.toBe(pid);
    expect(notes.join()).toContain("0.8.0");
  });

  test("of an older version stays when busy, with a hint to replace it", async () => {
    const older = await ensureDaemon(deps({ STAND_IN_VERSION: "0.8.0", STAND_IN_BUSY: "2" }), never);
    const error = await refusal(ensureDaemon(deps(), never));
    expect(error.code).toBe("daemon_busy");
    expect(error.message).toContain("version 0.8.0");
    expect(error.hint).toContain("cli daemon restart");
    expect((await older.call("health", {})).version).toBe("0.8.0");
  });

  test("of a newer version is used unchanged", async () => {
    await ensureDaemon(deps({ STAND_IN_VERSION: "99.0.0" }), never);
    expect((await (await ensureDaemon(deps(), never)).call("health", {})).version).toBe("99.0.0");
  });

  test("is not awaited after Ctrl-C", async () => {
    const aborted = AbortSignal.abort();
    expect((await refusal(ensureDaemon(deps(), aborted))).code).toBe("interrupted");
    // It still starts, and the next command finds it.
    await expect.poll(() => findDaemon(deps())).toBeDefined();
  });
});

describe.runIf(process.platform !== "win32")("a daemon that does not answer", () => {
  /** Stops a daemon in the middle of its work. Returns its pid. */
  async function hang(): Promise<number> {
    await ensureDaemon(deps(), never);
    const pid = (await findDaemon(deps()))?.file.pid ?? 0;
    mkdirSync(join(home, "locks"));
    writeFileSync(join(home, "locks", "daemon.1"), JSON.stringify(identifyProcess(pid)));
    process.kill(pid, "SIGSTOP");
    onTestFinished(() => {
      // continues for the signal of the end, unless the test killed it
      if (identifyProcess(pid) !== undefined) process.kill(pid, "SIGCONT");
    });
    return pid;
  }

  test("is named to each command, with the way out", async () => {
    const pid = await hang();
    const error = await refusal(ensureDaemon({ ...deps(), answer_timeout_ms: 200 }, never));
    process.kill(pid, "SIGCONT");
    expect(error).toMatchObject({ code: "daemon_hung", message: `The daemon (process ${pid}) does not answer.` });
    expect(error.hint).toBe("End it and start another: cli daemon restart");
    expect((await findDaemon(deps()))?.file.pid).toBe(pid);
  });

  test("is killed after it did not end on request, and counts as gone", async () => {
    const pid = await hang();
    const steps = [
      { signal: "SIGTERM", wait_ms: 50 },
      { signal: "SIGKILL", wait_ms: 10_000 },
    ] as const;
    expect(await endHungDaemon(home, pid, steps)).toBe("SIGKILL");
    expect(await findDaemon(deps())).toBeUndefined();
  });

  test("is not looked for in another process with its pid", async () => {
    const pid = await hang();
    writeFileSync(join(home, "locks", "daemon.1"), JSON.stringify({ pid, started: "another process" }));
    expect(await findDaemon({ ...deps(), answer_timeout_ms: 200 })).toBeUndefined();
    expect(await endHungDaemon(home, pid)).toBe("SIGTERM");
    expect(identifyProcess(pid)).toBeDefined();
    process.kill(pid, "SIGCONT");
  });
});

describe("an unwritable home", () => {
  test("is refused by name when a part of its path is a file", async () => {
    const file = join(home, "file");
    writeFileSync(file, "");
    const config = { home: join(file, "home"), daemon_env: {} };
    const error = await refusal(ensureDaemon({ ...deps(), config }, never));
    expect(error.code).toBe("home_not_writable");
    expect(error.message).toContain(`${config.home} cannot be written: a part of the path is a file`);
    expect(error.hint).toContain("SERVICE_HOME");
  });
});
