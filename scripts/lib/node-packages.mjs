import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./paths.mjs";
import { capture } from "./run.mjs";
import { Stop, say } from "./say.mjs";

const OLDEST_NODE = [20, 19];

/** Refuses a Node that is too old. */
export function requireNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new Stop(
    `This is Node ${process.versions.node}; ${OLDEST_NODE.join(".")} or newer is needed.`,
    "Install a newer Node and repeat.",
  );
}

/** Installs the packages of the lock file unless they are installed. */
export function ensureNodePackages() {
  if (packagesAreThere()) return;
  say("Installing the JavaScript packages (npm ci) ...");
  const npm = npmCommand();
  const args = [...npm.args, "ci", "--no-audit", "--no-fund", "--loglevel=error"];
  const done = capture(npm.command, args, { cwd: ROOT, shell: npm.shell });
  if (done.code !== 0) {
    throw new Stop(
      `npm ci failed:\n${(done.stderr + done.stdout).trimEnd()}`,
      "Fix the problem that npm reports and repeat.",
    );
  }
}

/** npm writes `node_modules/.package-lock.json` last; it must list the same packages as package-lock.json. */
function packagesAreThere() {
  const written = join(ROOT, "node_modules", ".package-lock.json");
  if (!existsSync(written)) return false;
  const expected = readPackages(join(ROOT, "package-lock.json"));
  const installed = readPackages(written);
  for (const [path, entry] of Object.entries(expected)) {
    if (!path.startsWith("node_modules/")) continue;
    const found = installed[path];
    if (found === undefined ? entry.optional !== true : found.integrity !== entry.integrity) return false;
  }
  return Object.keys(installed).every(
    (path) => path in expected && (expected[path].link !== true || existsSync(join(ROOT, path))),
  );
}

function readPackages(file) {
  return JSON.parse(readFileSync(file, "utf8")).packages;
}

/**
 * Within `npm run`, npm provides its script's path. Otherwise npm is a command (on Windows a .cmd, which needs a
 * shell).
 */
function npmCommand() {
  const script = process.env.npm_execpath;
  if (script?.endsWith(".js")) return { command: process.execPath, args: [script], shell: false };
  const windows = process.platform === "win32";
  return { command: windows ? "npm.cmd" : "npm", args: [], shell: windows };
}
