import { spawn } from "node:child_process";
import { join, relative } from "node:path";
import { startServer } from "./hosted-server.mjs";
import { DIST, ROOT } from "./paths.mjs";
import { capture, stream } from "./run.mjs";
import { Stop, say } from "./say.mjs";

const PROJECT = join(ROOT, "examples", "quickstart");
const TARGET = "main";
const SERVICE = "ingest";
/** What a terminal, a supervisor and a closed window send. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Makes the quickstart's tables, serves its routes from the daemon and starts the hosted service beside it, prints how to use
 * them and shows the service's log until a signal comes or the daemon stops; then stops all that was started. Answers the
 * exit status.
 */
export async function serveQuickstart() {
  const env = { ...process.env, SERVICE_HOME: process.env.SERVICE_HOME || join(ROOT, ".service") };
  const interrupted = nextSignal();
  let status = 1;
  let server;
  try {
    // undefined: a signal came while the tables and the service were being made
    status = (await untilInterrupted(interrupted, () => update(env))) ?? 0;
    if (status === 0 && !interrupted.came()) {
      server = await startServer(env);
      describe(address(env), server);
      await follow(env, interrupted);
    }
  } finally {
    say("Stopping the services, the daemon and PostgreSQL ...");
    const [stopped] = await Promise.all([cli(["daemon", "stop"], env), server?.stop()]);
    if (status === 0) status = stopped;
  }
  return status;
}

/** The first signal; further ones are passed over, because the stopping is under way. */
function nextSignal() {
  let signalled = false;
  const first = new Promise((resolve) => {
    const take = () => {
      signalled = true;
      resolve();
    };
    for (const signal of SIGNALS) process.on(signal, take);
  });
  return { first, came: () => signalled };
}

async function untilInterrupted(interrupted, work) {
  return await Promise.race([work(), interrupted.first.then(() => undefined)]);
}

async function update(env) {
  const status = await cli(["schema", "update", "app.py", TARGET], env);
  // -f: whoever starts this script has said that the service may be restarted; what would drop data was asked above
  return status === 0 ? await cli(["service", "update", "app.py", TARGET, "-f"], env) : status;
}

function cli(args, env) {
  // In a group of its own: a Ctrl-C at the terminal reaches this script alone, which then stops everything in order.
  return stream(process.execPath, [join(DIST, "cli.js"), ...args], { cwd: PROJECT, env, detached: true });
}

function address(env) {
  const listed = capture(process.execPath, [join(DIST, "cli.js"), "service", "list", TARGET, "--json"], {
    cwd: PROJECT,
    env,
  });
  if (listed.code !== 0) throw new Stop(`The services could not be listed:\n${listed.stderr.trimEnd()}`);
  const service = JSON.parse(listed.stdout).services.find(({ name }) => name === SERVICE);
  if (!service?.endpoint) {
    throw new Stop(`The service ${SERVICE} has no address.`, `./cli service logs ${TARGET}/${SERVICE}`);
  }
  return service.endpoint.replace(/\/$/, "");
}

function describe(endpoint, server) {
  say(`
The hosted service runs here, too (its log: ${relative(process.cwd(), server.log)}):

    ${server.printed.join("\n    ")}

The quickstart application is served at

    ${endpoint}          its documentation: ${endpoint}/docs

Insert a row, in another terminal:

    curl -X POST ${endpoint}/docs -H 'content-type: application/json' -d '{"title":"Hello","body":"World"}'

Then type:

    ./cli service list main                # address and routes of everything that is served
    cd examples/quickstart                 # edit app.py, add a column, and
    ../../cli schema diff app.py main      # see what would change
    ../../cli schema update app.py main    # change it
    ../../cli --help

Sign in to the hosted service, once it has an account:

    ./cli login

Ctrl-C stops all of it; what is stored stays. The log of the quickstart's service follows.
`);
}

/** Shows the log until a signal comes, or until it ends because somebody stopped the daemon. */
async function follow(env, interrupted) {
  const args = [join(DIST, "cli.js"), "service", "logs", `${TARGET}/${SERVICE}`, "--follow"];
  const child = spawn(process.execPath, args, {
    cwd: PROJECT,
    env,
    detached: true,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const ended = new Promise((resolve) => {
    child.on("close", resolve);
  });
  await Promise.race([ended, interrupted.first]);
  // a reader of a log has nothing to finish
  child.kill("SIGKILL");
  await ended;
}
