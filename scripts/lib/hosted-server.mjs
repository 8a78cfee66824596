import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DIST } from "./paths.mjs";
import { Stop, say } from "./say.mjs";

/** Time for a stop: running requests, pods, PostgreSQL. As TimeoutStopSec of deploy/appdb.service. */
const STOP_MS = 90_000;

/**
 * Starts the hosted service of a home: control plane, reconciler and dashboard, with its own PostgreSQL. Its log goes
 * to `<home>/logs/server.log`. Resolves once it listens, with its printed lines (the dashboard's address and, on the
 * first start, the setup link of the first account), its exit status once it has ended, how it died, and a function to stop it.
 */
export async function startServer(env) {
  const logs = join(env.SERVICE_HOME, "logs");
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  const logFile = join(logs, "server.log");
  const log = createWriteStream(logFile, { flags: "a", mode: 0o600 });
  // A separate process group: Ctrl-C in the terminal reaches only npm start, which then stops everything in order.
  const child = spawn(process.execPath, [join(DIST, "server.js")], {
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise((resolve) => child.on("close", resolve));
  let stops = false;
  const output = [];
  child.stderr.on("data", (data) => {
    output.push(String(data));
    log.write(data);
  });
  const printed = await new Promise((resolve, reject) => {
    const lines = [];
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith("{")) return log.write(`${line}\n`);
      // an empty line ends its output for users
      if (line === "") resolve(lines);
      else lines.push(line);
    });
    void ended.then(() =>
      reject(new Stop(`The hosted service did not start.\n${output.join("").trimEnd()}`, `less ${logFile}`)),
    );
  });
  return {
    printed,
    log: logFile,
    ended,
    /** How it ended without being asked to: a signal or a status; undefined while it runs or after `stop`. */
    get death() {
      if (stops || (child.exitCode === null && child.signalCode === null)) return undefined;
      return child.signalCode ?? `status ${child.exitCode}`;
    },
    async stop() {
      stops = true;
      child.kill("SIGTERM");
      const late = setTimeout(() => {
        say(`The server did not stop within ${STOP_MS / 1_000} s and is killed. The next start ends what it leaves.`);
        child.kill("SIGKILL");
      }, STOP_MS);
      await ended;
      clearTimeout(late);
      log.end();
    },
  };
}
