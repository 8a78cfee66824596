import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DIST } from "./paths.mjs";
import { Stop } from "./say.mjs";

/** How long requests that are under way may take when the server stops. */
const STOP_MS = 15_000;

/**
 * Starts the hosted service of a home: control plane, reconciler and dashboard, on a PostgreSQL of its own. Its log goes to
 * `<home>/logs/server.log`. Answers once it listens: what it printed for a person (the dashboard's address, on the first
 * start the link that makes the first account), and how to stop it.
 */
export async function startServer(env) {
  const logs = join(env.SERVICE_HOME, "logs");
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  const logFile = join(logs, "server.log");
  const log = createWriteStream(logFile, { flags: "a", mode: 0o600 });
  // In a group of its own: a Ctrl-C at the terminal reaches npm start alone, which then stops everything in order.
  const child = spawn(process.execPath, [join(DIST, "server.js")], {
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise((resolve) => child.on("close", resolve));
  const said = [];
  child.stderr.on("data", (data) => {
    said.push(String(data));
    log.write(data);
  });
  const printed = await new Promise((resolve, reject) => {
    const lines = [];
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith("{")) return log.write(`${line}\n`);
      // an empty line ends what it has to say
      if (line === "") resolve(lines);
      else lines.push(line);
    });
    void ended.then(() =>
      reject(new Stop(`The hosted service did not start.\n${said.join("").trimEnd()}`, `less ${logFile}`)),
    );
  });
  return {
    printed,
    log: logFile,
    ended,
    async stop() {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await ended;
      clearTimeout(late);
      log.end();
    },
  };
}
