import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findPythons } from "./find-python.mjs";
import { ROOT, TOOLS, TOOLS_PYTHON } from "./paths.mjs";
import { capture } from "./run.mjs";
import { Stop, say } from "./say.mjs";

const REQUIREMENTS = join(ROOT, "scripts", "tools-requirements.txt");
const STAMP = join(TOOLS, "setup.json");

/** Creates `.tools`, the Python environment with PostgreSQL, uv and pytest, unless it exists and is complete. */
export function ensureToolEnvironment() {
  const requirements = readFileSync(REQUIREMENTS, "utf8");
  const stamp = JSON.stringify({ root: ROOT, requirements: createHash("sha256").update(requirements).digest("hex") });
  if (readStamp() === stamp && existsSync(TOOLS_PYTHON)) return;
  if (readStamp() === undefined && existsSync(TOOLS_PYTHON) && missing(requirements).length === 0) {
    writeFileSync(STAMP, stamp);
    return;
  }
  makeEnvironment();
  const absent = missing(requirements);
  if (absent.length > 0)
    throw new Stop(`The tool environment lacks ${absent.join(", ")}.`, `Remove ${TOOLS} and repeat.`);
  writeFileSync(STAMP, stamp);
}

function readStamp() {
  return existsSync(STAMP) ? readFileSync(STAMP, "utf8") : undefined;
}

/** Tries each Python with each way to create an environment, and keeps the first that works. */
function makeEnvironment() {
  const pythons = findPythons();
  const uv = capture("uv", ["--version"]).code === 0;
  const failures = [];
  for (const python of pythons) {
    for (const way of waysFor(python, uv)) {
      say(`Creating the tool environment with Python ${python.version.join(".")} (${way.name}) ...`);
      rmSync(TOOLS, { recursive: true, force: true });
      const failure = firstFailure(way.steps);
      if (failure === undefined) return;
      failures.push(`${python.executable} (${way.name}): ${failure}`);
    }
  }
  rmSync(TOOLS, { recursive: true, force: true });
  throw explain(pythons, failures);
}

function waysFor(python, uv) {
  const install = ["install", "--require-hashes", "--only-binary", ":all:", "--quiet", "-r", REQUIREMENTS];
  const ways = [];
  if (uv) {
    const create = ["uv", ["venv", "--quiet", "--no-project", "--python", python.executable, TOOLS]];
    ways.push({ name: "uv", steps: [create, ["uv", ["pip", ...install, "--python", TOOLS_PYTHON]]] });
  }
  if (python.venv && python.ensurepip) {
    const create = [python.executable, ["-m", "venv", TOOLS]];
    ways.push({
      name: "venv",
      steps: [create, [TOOLS_PYTHON, ["-m", "pip", "--disable-pip-version-check", ...install]]],
    });
  }
  if (python.venv && !python.ensurepip && python.pip) {
    // Debian removes ensurepip from venv; the system's pip can install into the environment from outside.
    const create = [python.executable, ["-m", "venv", "--without-pip", TOOLS]];
    const pip = [python.executable, ["-m", "pip", "--disable-pip-version-check", "--python", TOOLS_PYTHON, ...install]];
    ways.push({ name: "venv without pip", steps: [create, pip] });
  }
  return ways;
}

function firstFailure(steps) {
  for (const [command, args] of steps) {
    const done = capture(command, args, { cwd: ROOT });
    if (done.code !== 0) return (done.stderr + done.stdout).trim().split("\n").slice(-4).join("\n    ");
  }
  return undefined;
}

function explain(pythons, failures) {
  const first = pythons[0];
  if (first === undefined) {
    return new Stop("No Python 3.11 or newer was found on PATH.", "Install Python 3.11 or newer and repeat.");
  }
  if (failures.length > 0) return new Stop(`The tool environment could not be created:\n  ${failures.join("\n  ")}`);
  const version = first.version.slice(0, 2).join(".");
  return new Stop(
    `${first.executable} lacks the modules venv and ensurepip, which create environments.`,
    `Install them (Debian, Ubuntu: apt-get install python${version}-venv) or install uv, and repeat.`,
  );
}

/** Pinned distributions that the environment lacks. Ignores markers of other systems. */
function missing(requirements) {
  const pins = [...requirements.matchAll(/^([\w.-]+)==(\S+)([^\n\\]*)/gm)].filter(
    ([, , , marker]) => !marker.includes(";"),
  );
  const code = `
import importlib.metadata as m, json, sys
if sys.prefix == sys.base_prefix: sys.exit("not an environment")
absent = []
for name, version in json.loads(sys.argv[1]):
    try: found = m.version(name)
    except m.PackageNotFoundError: found = None
    if found != version: absent.append(f"{name} {version}")
print(json.dumps(absent))
`;
  const done = capture(TOOLS_PYTHON, [
    "-I",
    "-c",
    code,
    JSON.stringify(pins.map(([, name, version]) => [name, version])),
  ]);
  return done.code === 0 ? JSON.parse(done.stdout) : ["a Python that runs"];
}
