// `npm run journey [-- --command <path of cli>]`: uses the local product like a user on any system: a project, its
// tables, a service in the terminal and one in the background, inserts and reads, a killed daemon, the end. Works in a
// temporary folder. Without --command it builds and uses the checkout's command.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { arch, release, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { DIST } from "./lib/paths.mjs";
import { collect } from "./lib/run.mjs";
import { main, Stop } from "./lib/say.mjs";

const PATIENCE_MS = 60_000;
const APP = `import appdb as db
from appdb.functions import upper, uuid7
from appdb.serving import Router


@db.udf
def words(text: str) -> int:
    return len(text.split())


class Note(db.model_base(), name="notes"):
    id = db.Column(value=uuid7(), primary_key=True)
    text: db.String
    loud = upper(text)
    words = words(text)


@db.query
def longer(least: int):
    return Note.where(Note.words >= least).order_by(Note.text).select(Note.text, Note.loud)


notes = Router()
notes.add_insert_route(Note, path="/notes", outputs=[Note.loud, Note.words])
notes.add_query_route(path="/longer", query=longer, method="get")
`;

async function walk(journey) {
  const { cli, step } = journey;
  writeFileSync(join(journey.project, "app.py"), APP);
  await step("cli doctor finds what it needs", () => cli("doctor"));
  await step("cli init makes a project", () => cli("init"));
  await step("cli schema check reads the file", () => cli("schema", "check", "app.py"));
  await step("cli schema update makes the table", () => cli("schema", "update", "app.py", "main"));
  await step("cli service run serves in this terminal", async () => {
    const service = await journey.serve();
    expectSame(await insert(service.endpoint, "one two three"), { loud: "ONE TWO THREE", words: 3 });
    expectSame(await longer(service.endpoint), [{ text: "one two three", loud: "ONE TWO THREE" }]);
    await service.end();
  });
  await step("cli service update serves in the background", async () => {
    await cli("service", "update", "app.py", "main", "-f");
    const { endpoint } = await journey.listed();
    expectSame(await insert(endpoint, "über zwei"), { loud: "ÜBER ZWEI", words: 2 });
    expectSame(await longer(endpoint), [
      { text: "one two three", loud: "ONE TWO THREE" },
      { text: "über zwei", loud: "ÜBER ZWEI" },
    ]);
  });
  await step("two commands at once share one daemon", async () => {
    await Promise.all([cli("service", "list"), cli("daemon", "status")]);
  });
  await step("a killed service comes back", async () => {
    const { pid } = await journey.listed();
    process.kill(pid, "SIGKILL");
    await eventually(async () => {
      const now = await journey.listed();
      return now.state === "AVAILABLE" && now.pid !== pid && (await longer(now.endpoint)).length === 2;
    });
  });
  await step("a killed daemon is replaced, with its service and its rows", async () => {
    const before = journey.pids();
    process.kill(before.daemon, "SIGKILL");
    await eventually(() => !isThere(before.daemon));
    await cli("daemon", "start");
    await eventually(async () => {
      const { endpoint, state } = await journey.listed();
      return state === "AVAILABLE" && (await longer(endpoint)).length === 2;
    });
    if (journey.pids().daemon === before.daemon) throw new Error("The daemon is the killed one.");
  });
  await step("cli daemon stop ends everything", async () => {
    const { pid } = await journey.listed();
    const { daemon, postgres } = journey.pids();
    await cli("daemon", "stop");
    await eventually(() => [daemon, postgres, pid].every((one) => !isThere(one)));
  });
}

/** One home and one project, with the results of the steps. */
class Journey {
  passed = 0;
  failed = 0;
  #command;
  #env;
  #running = [];

  constructor(command, folder) {
    this.#command = command;
    this.home = join(folder, "home");
    this.project = join(folder, "project");
    mkdirSync(this.project);
    this.#env = { ...process.env, SERVICE_HOME: this.home, NO_COLOR: "1" };
  }

  /** Steps depend on earlier ones: after a failure, the remaining steps are not run and count as failed. */
  step = async (name, work) => {
    if (this.failed > 0) {
      this.failed += 1;
      console.log(`not tried  ${name}`);
      return;
    }
    const started = performance.now();
    try {
      await work();
      this.passed += 1;
      console.log(`ok         ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
    } catch (error) {
      this.failed += 1;
      console.log(`FAILED     ${name}\n${error instanceof Error ? error.message : error}`);
      this.#printLogs();
    }
  };

  /** Runs a command that must succeed and returns its output. */
  cli = async (...args) => {
    const [program, ...before] = this.#command;
    const options = { cwd: this.project, env: this.#env, windowsHide: true };
    const { code, output } = await collect(program, [...before, ...args], options);
    if (code !== 0) throw new Error(`cli ${args.join(" ")} ended with ${code}:\n${output}`);
    return output;
  };

  /** Starts `service run`. `end` kills the command; its service must then end too. */
  async serve() {
    const [program, ...before] = this.#command;
    const args = [...before, "service", "run", "app.py", "main", "--port", "0", "--json"];
    const child = spawn(program, args, { cwd: this.project, env: this.#env, stdio: ["ignore", "pipe", "pipe"] });
    this.#running.push(child);
    let output = "";
    const keep = (text) => {
      output += text;
    };
    child.stderr.setEncoding("utf8").on("data", keep);
    const lines = createInterface({ input: child.stdout });
    lines.on("line", (line) => keep(`${line}\n`));
    const ended = new Promise((resolve) => child.once("exit", resolve));
    const endpoint = await eventually(async () => {
      if (child.exitCode !== null) throw new Stop(`cli service run ended with ${child.exitCode}:\n${output}`);
      return /"endpoint":\s*"([^"]+)"/.exec(output)?.[1];
    });
    const end = async () => {
      child.kill("SIGKILL");
      await ended;
      await eventually(async () => !(await answers(endpoint)));
    };
    return { endpoint, end };
  }

  /** The only service of the home. */
  async listed() {
    const { services } = JSON.parse(await this.cli("service", "list", "--json"));
    return services[0];
  }

  /** Pids of the daemon and its PostgreSQL. */
  pids() {
    const lock = readFileSync(join(this.home, "postgres", "18", "postmaster.pid"), "utf8");
    const { pid } = JSON.parse(readFileSync(join(this.home, "daemon.json"), "utf8"));
    return { daemon: pid, postgres: Number(lock.split("\n")[0]) };
  }

  /** Ends leftovers of a failed step. */
  async end() {
    for (const child of this.#running) child.kill("SIGKILL");
    if (existsSync(join(this.home, "daemon.json"))) await this.cli("daemon", "stop").catch((error) => say(error));
  }

  #printLogs() {
    for (const file of ["daemon.log", "postgres.log"]) {
      const path = join(this.home, "logs", file);
      if (!existsSync(path)) continue;
      console.log(`--- ${file}\n${readFileSync(path, "utf8").trimEnd().split("\n").slice(-30).join("\n")}`);
    }
  }
}

function say(error) {
  console.log(error instanceof Error ? error.message : error);
}

async function findCommand(args) {
  const at = args.indexOf("--command");
  if (at >= 0) {
    const path = args[at + 1];
    if (path === undefined || !existsSync(path))
      throw new Stop(`There is no command ${path ?? ""}.`, "Pass the path of its file.");
    return [resolve(path)];
  }
  const { ensureNodePackages, requireNode } = await import("./lib/node-packages.mjs");
  requireNode();
  ensureNodePackages();
  const { ensureToolEnvironment } = await import("./lib/tool-environment.mjs");
  ensureToolEnvironment();
  const { ensureBuilt } = await import("./lib/build.mjs");
  await ensureBuilt();
  return [process.execPath, join(DIST, "cli.js")];
}

async function insert(endpoint, text) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${endpoint}/notes`, { method: "POST", headers, body: JSON.stringify({ text }) });
  if (answer.status !== 201 && answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
  return await answer.json();
}

async function longer(endpoint) {
  const answer = await fetch(`${endpoint}/longer?least=1`);
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return (await answer.json()).rows;
}

async function answers(endpoint) {
  return await fetch(`${endpoint}/longer?least=1`, { signal: AbortSignal.timeout(2_000) }).then(
    () => true,
    () => false,
  );
}

function isThere(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function expectSame(found, expected) {
  const [left, right] = [found, expected].map((value) => JSON.stringify(value));
  if (left !== right) throw new Error(`Expected ${right}, got ${left}`);
}

/** Repeats a check until it succeeds. Errors count as failures; the last one is reported at the timeout. */
async function eventually(look) {
  const until = performance.now() + PATIENCE_MS;
  for (let last; ; ) {
    try {
      const found = await look();
      if (found) return found;
    } catch (error) {
      if (error instanceof Stop) throw error;
      last = error;
    }
    if (performance.now() > until)
      throw new Error(`Waited ${PATIENCE_MS / 1000} s without success. ${last?.message ?? ""}`);
    await sleep(100);
  }
}

await main(async () => {
  const command = await findCommand(process.argv.slice(2));
  // a space and a non-ASCII letter, as in users' paths
  const folder = mkdtempSync(join(realpathSync.native(tmpdir()), "appdb journey ü "));
  const journey = new Journey(command, folder);
  console.log(`${process.platform} ${release()} ${arch()}, Node ${process.version}: ${command.join(" ")}`);
  try {
    await walk(journey);
  } finally {
    await journey.end();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  }
  console.log(`${journey.passed} passed, ${journey.failed} failed`);
  return journey.failed === 0 ? 0 : 1;
});
