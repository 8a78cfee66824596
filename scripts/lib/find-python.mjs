import { capture } from "./run.mjs";

const OLDEST_PYTHON = [3, 11];
const NAMES = ["python3.14", "python3.13", "python3.12", "python3.11", "python3", "python"];
const PROBE = `
import importlib.util, json, sys
has = lambda name: importlib.util.find_spec(name) is not None
print(json.dumps({"version": list(sys.version_info[:3]), "executable": sys.executable,
                  "venv": has("venv"), "ensurepip": has("ensurepip"), "pip": has("pip")}))
`;

/**
 * Supported Pythons on PATH, newest name first, with their capabilities. Skips a name that does not run, such as a
 * version manager's shim of an unselected version.
 */
export function findPythons(env = process.env) {
  const found = [];
  for (const name of NAMES) {
    const probe = capture(name, ["-I", "-c", PROBE], { env, timeout: 15_000 });
    if (probe.code !== 0) continue;
    const python = parse(probe.stdout);
    if (python === undefined || !isNewEnough(python.version)) continue;
    if (!found.some((other) => other.executable === python.executable)) found.push(python);
  }
  return found;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    // another program with that name
    return undefined;
  }
}

function isNewEnough([major, minor]) {
  return major > OLDEST_PYTHON[0] || (major === OLDEST_PYTHON[0] && minor >= OLDEST_PYTHON[1]);
}
