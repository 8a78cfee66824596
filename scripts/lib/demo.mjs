import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { insertFirstRow } from "./first-row.mjs";
import { startServer } from "./hosted-server.mjs";
import { DIST, ROOT } from "./paths.mjs";
import { capture, stream } from "./run.mjs";
import { Stop, say } from "./say.mjs";

const PROJECT = join(ROOT, "examples", "quickstart");
const ORGANIZATION = "demo";
const DATABASE = `cloud://${ORGANIZATION}:main`;
const SERVICE = `${DATABASE}/ingest`;
const ACCOUNT = { name: "Demo", email: "demo@example.com" };
/** Signals of a terminal, a supervisor and a closed window. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
/** Time for a database and its service to come back. */
const BACK_MS = 60_000;
const LOOK_MS = 100;
/** Time in which a signal or the end of the server explains the end of its log. */
const EXPLAINED_MS = 10_000;
/** How often the script checks that `npm` still runs. */
const NPM_MS = 500;
/** The server's message when it refuses to run pods as root (packages/pods/src/choose-driver.ts). */
const AS_ROOT = "Plain processes are not used instead: the server runs as root";

/**
 * Runs the hosted service. The first start creates an account, the organization `demo` and a key, and deploys the
 * quickstart; later starts find them. Inserts a row through the gateway, prints the next commands and shows the
 * service's log until a signal arrives or the server ends. Then stops everything that it started. Returns the exit
 * status.
 */
export async function serveDemo() {
  // paths are printed for other terminals, whose folder may be another one
  const home = resolve(process.env.SERVICE_HOME || join(ROOT, ".service"));
  const env = { ...process.env, SERVICE_HOME: home };
  const interrupted = nextSignal();
  let server;
  try {
    server = await startDemoServer(env);
    return (await Promise.race([show(env, server, interrupted), interrupted.first.then(() => 0)])) ?? 0;
  } finally {
    say(farewell(server));
    await server?.stop();
  }
}

/** A server that died stops nothing: what it started runs until the next start. */
export function farewell(server) {
  if (server?.death === undefined) return "Stopping the services, their databases and the server ...";
  return `The server died (${server.death}). Its log: less ${server.log}\nIts services, their databases, the gateway and PostgreSQL may still run. The next npm start takes them over.`;
}

/**
 * Starts the server. As root on a machine without sandbox support, the demo runs its pods as plain processes: its code
 * is the user's own, and only this machine can reach the server. A publicly reachable server keeps its settings.
 */
async function startDemoServer(env) {
  try {
    return await startServer(env);
  } catch (error) {
    const isOurs =
      (env.SERVICE_PODS ?? "") === "" && (env.SERVICE_HOST ?? "") === "" && (env.SERVICE_DOMAIN ?? "") === "";
    if (!isOurs || !(error instanceof Stop) || !error.message.includes(AS_ROOT)) throw error;
    const reason = /^error: (.*)$/m.exec(error.message)?.[1] ?? error.message;
    say(
      `\nWARNING: ${reason}\nThe demo runs its pods as plain processes: code that is deployed to it is root on this machine.`,
    );
    say("Use it only for yourself. Install the missing parts before you serve others: docs/pods.md\n");
    return await startServer({ ...env, SERVICE_PODS: "process" });
  }
}

/**
 * The first signal. Further ones are ignored, because the shutdown has begun. npm passes SIGTERM to a shell, which ends
 * without passing it on: the lost parent counts as a signal.
 */
function nextSignal() {
  let signalled = false;
  const first = new Promise((resolve) => {
    const take = () => {
      signalled = true;
      resolve();
    };
    for (const signal of SIGNALS) process.on(signal, take);
    const parent = process.ppid;
    const look = () => {
      if (process.ppid !== parent) take();
    };
    if (process.env.npm_lifecycle_event === "start") setInterval(look, NPM_MS).unref();
  });
  return { first, came: () => signalled };
}

async function show(env, server, interrupted) {
  const demo = await openDemo(env, server);
  if (demo === undefined) {
    say(`\nThe hosted service runs (its log: ${server.log}):\n`);
    say(
      `    ${server.printed.join("\n    ")}\n\nIt has its own accounts, so no demo is created. Press Ctrl-C to stop everything.\n`,
    );
    await Promise.race([server.ended, interrupted.first]);
    return 0;
  }
  const commands = { ...env, SERVICE_API_URL: demo.url, SERVICE_API_KEY: demo.key };
  if (demo.is_new) {
    const status = await deploy(commands, interrupted);
    if (status !== 0 || interrupted.came()) return status;
    demo.keep();
  }
  const endpoint = await waitForService(commands, interrupted);
  if (endpoint === undefined) return 0;
  const row = await insertFirstRow({ endpoint, key: demo.key, service: SERVICE, interrupted });
  if (row === undefined) return 0;
  describe(endpoint, row, demo, server);
  return await follow(commands, server, interrupted);
}

/** The account, organization and key of the demo. Undefined when users have created their own accounts. */
async function openDemo(env, server) {
  const folder = join(env.SERVICE_HOME, "demo");
  const files = {
    key: join(folder, "api-key"),
    password: join(folder, "password"),
    deployed: join(folder, "deployed"),
  };
  const printed = (begin) => server.printed.find((line) => line.startsWith(begin))?.slice(begin.length);
  const url = printed("Dashboard: ");
  const token = new URL(printed("Make the first account: ") ?? "http://none/").searchParams.get("token");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // written before it is used, so that a killed start can be resumed
  if (token !== null && !existsSync(files.password)) keep(files.password, randomBytes(12).toString("base64url"));
  if (!existsSync(files.password)) return undefined;
  if (!existsSync(files.key)) keep(files.key, await makeAccount(url, token, readFileSync(files.password, "utf8")));
  return {
    url,
    files,
    key: readFileSync(files.key, "utf8"),
    is_new: !existsSync(files.deployed),
    keep: () => keep(files.deployed, ""),
  };
}

function keep(path, text) {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Creates the missing parts of account, organization and key, and returns the key. */
async function makeAccount(url, token, password) {
  let cookie;
  const ask = async (method, path, body) => {
    const headers = { origin: url, "content-type": "application/json", ...(cookie === undefined ? {} : { cookie }) };
    const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
    const cookies = response.headers.getSetCookie().map((line) => line.split(";", 1)[0]);
    if (cookies.length > 0) cookie = cookies.join("; ");
    return { status: response.status, text: await response.text() };
  };
  const demand = async (method, path, body, ...fine) => {
    const { status, text } = await ask(method, path, body);
    if (status < 300 || fine.includes(status)) return text;
    const { detail = text, hint } = JSON.parse(text);
    throw new Stop(`The demo could not be created: ${detail}`, hint ?? undefined);
  };
  if (token === null) await demand("POST", "/v1/auth/sign-in/email", { email: ACCOUNT.email, password });
  else await demand("POST", "/v1/setup", { token, ...ACCOUNT, password });
  await demand("POST", "/v1/orgs", { name: ORGANIZATION }, 409);
  const name = `npm-start-${randomBytes(3).toString("hex")}`;
  return JSON.parse(await demand("POST", `/v1/orgs/${ORGANIZATION}/keys`, { name })).api_key;
}

async function deploy(env, interrupted) {
  const steps = [
    ["db", "update", DATABASE, "-f"],
    ["schema", "update", "app.py", DATABASE],
    ["service", "update", "app.py", DATABASE, "-f"],
  ];
  await waitForDatabase(env, interrupted);
  for (const step of steps) {
    if (interrupted.came()) return 0;
    say(`\n$ cli ${step.join(" ")}`);
    const status = await stream(process.execPath, [join(DIST, "cli.js"), ...step], {
      cwd: PROJECT,
      env,
      detached: true,
    });
    if (status !== 0) return status;
  }
  return 0;
}

/** A new organization's database is created while its key is. */
async function waitForDatabase(env, interrupted) {
  const reason = () => ask(["db", "status", DATABASE, "--json"], env)?.failure?.detail;
  await untilSo(interrupted, reason, () => {
    const { state } = ask(["db", "status", DATABASE, "--json"], env) ?? {};
    return state === "AVAILABLE" || state === "FAILED" ? state : undefined;
  });
}

/** Its address once it is available; undefined when a signal came first. */
async function waitForService(env, interrupted) {
  let said;
  const reason = () => said;
  return await untilSo(interrupted, reason, () => {
    const found = ask(["service", "list", DATABASE, "--json"], env)?.services.find(({ uri }) => uri === SERVICE);
    said = found?.failure?.detail ?? found?.reason ?? undefined;
    if (found?.state === "FAILED" || found?.state === "STOPPED") {
      const reason = found.failure?.detail ?? found.reason ?? "it was stopped";
      if (found.state === "FAILED" || found.reason === null) {
        throw new Stop(`The service ${SERVICE} is ${found.state}: ${reason}.`, `./cli service restart ${SERVICE}`);
      }
    }
    return found?.state === "AVAILABLE" ? (found.endpoint ?? undefined) : undefined;
  });
}

async function untilSo(interrupted, reasonOf, look) {
  const end = Date.now() + BACK_MS;
  while (!interrupted.came()) {
    const found = look();
    if (found !== undefined) return found;
    if (Date.now() > end) {
      const reason = reasonOf() ?? "it has not said why; the server's log may have the reason";
      throw new Stop(`${SERVICE} did not start: ${reason}`, "Correct the reason, then start again: npm start");
    }
    await sleep(LOOK_MS);
  }
  return undefined;
}

function ask(args, env) {
  const asked = capture(process.execPath, [join(DIST, "cli.js"), ...args], { cwd: PROJECT, env });
  return asked.code === 0 ? JSON.parse(asked.stdout) : undefined;
}

/** A path as a shell reads it. */
function shellWord(path) {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

function describe(endpoint, row, { files, url }, { log }) {
  // another terminal does not have this variable
  const ownHome = process.env.SERVICE_HOME ? `    export SERVICE_HOME="${resolve(process.env.SERVICE_HOME)}"\n` : "";
  say(`
The quickstart is served from the hosted database ${DATABASE} (the server's log: ${log}):

    ${endpoint}

A row was inserted through the gateway and answered:

    ${row}

Insert another one, in another terminal:

    curl -X POST ${endpoint}/docs -H "X-api-key: $(cat ${shellWord(files.key)})" -H 'content-type: application/json' -d '{"title":"Hello","body":"World"}'

Then type:

${ownHome}    export SERVICE_API_KEY="$(cat ${shellWord(files.key)})"
    ./cli service list ${DATABASE}       # address and routes of everything that is served
    ./cli db status ${DATABASE}          # state, resources, pods
    cd examples/quickstart                     # edit app.py, add a column, and
    ../../cli db update ${DATABASE} -f
    ../../cli schema update app.py ${DATABASE}
    ../../cli service update app.py ${DATABASE} -f
    ../../cli dev app.py main                  # or try changes first, in a database on this machine

Look at it in a browser, as ${ACCOUNT.email} with the password in ${files.password}:

    ${url}

Ctrl-C stops all of it; what is stored stays. The log of the service follows.
`);
}

/** Shows the log until a signal arrives or the server ends. Returns the exit status. */
async function follow(env, server, interrupted) {
  const args = [join(DIST, "cli.js"), "service", "logs", SERVICE, "--follow", "--tail", "5"];
  const child = spawn(process.execPath, args, {
    cwd: PROJECT,
    env,
    // A separate process group: Ctrl-C in the terminal reaches only this script, which then stops everything in order.
    detached: true,
    stdio: ["ignore", "inherit", "pipe"],
  });
  const complaints = [];
  child.stderr.on("data", (data) => complaints.push(data));
  const ended = new Promise((resolve) => {
    child.on("close", resolve);
  });
  const isStopped = Promise.race([
    interrupted.first.then(() => 0),
    server.ended.then((status) => (status === 0 ? 0 : 1)),
  ]);
  await Promise.race([isStopped, ended]);
  // a log reader needs no shutdown
  child.kill("SIGKILL");
  await ended;
  // a server that stops closes the reader's connection first: the reader's error adds nothing
  const status = await Promise.race([isStopped, sleep(EXPLAINED_MS, undefined, { ref: false })]);
  if (status === undefined) process.stderr.write(Buffer.concat(complaints));
  return status ?? 1;
}
