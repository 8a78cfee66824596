import { execFile } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { appError } from "@appdb/contract/errors";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { textKey } from "./text-key.ts";

const PROBE_TIMEOUT_MS = 20_000;
const OLDEST = [3, 11] as const;
/** Errors when a folder belongs to another user, is a file, is read-only, or the disk is full. */
const UNWRITABLE = ["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "disk_full"];
const run = promisify(execFile);

/** Prints facts about an interpreter: version, its own path, and its package folders. */
const PROBE = `import sys,json
print(json.dumps({"version":list(sys.version_info[:3]),"executable":sys.executable,"base":getattr(sys,"_base_executable",None) or sys.executable,"prefix":sys.base_prefix,"paths":[p for p in sys.path if p.endswith(("site-packages","dist-packages"))]}))`;

export interface PythonFacts {
  readonly version: readonly [number, number, number];
  /** Path of the real interpreter when `python` is a shim. */
  readonly executable: string;
  /** Interpreter that a virtual environment was made from; otherwise equal to `executable`. */
  readonly base: string;
  /** Folder of the base interpreter with its standard library. */
  readonly prefix: string;
  /** Its site-packages folders. */
  readonly paths: readonly string[];
}

export interface ProbeInput {
  /** Path of an interpreter. */
  readonly python: string;
  /** Folder that caches probe results. */
  readonly cache_folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Probes an interpreter. Running it takes longer than the rest of a command, so the result is cached until the
 * interpreter's file changes.
 * @throws python_not_found when it is missing, does not run, or is older than 3.11
 */
export async function probePython(input: ProbeInput): Promise<PythonFacts> {
  const { cache_folder: cacheFolder, python } = input;
  const stamp = stampOf(python);
  if (stamp === undefined) throw notFound(`No Python at ${python}.`);
  const cache = join(cacheFolder, `${textKey(python)}.json`);
  const cached = readCache(cache, stamp);
  if (cached !== undefined) return cached;
  const facts = await askPython(input);
  // a shim may start another Python later without changing itself
  if (!isScript(python)) writeCache(cache, JSON.stringify({ stamp, facts }));
  return facts;
}

/** Whether `import name` finds a package in the interpreter's own folders. */
export function hasPackage(facts: PythonFacts, name: string): boolean {
  return facts.paths.some((folder) => existsSync(join(folder, name, "__init__.py")));
}

/** `3.12`. */
export function minorVersion(facts: PythonFacts): string {
  return `${facts.version[0]}.${facts.version[1]}`;
}

async function askPython(input: ProbeInput): Promise<PythonFacts> {
  const { python } = input;
  // the interpreter's facts must not include the application's import path
  const { PYTHONHOME: _home, PYTHONPATH: _path, ...env } = input.env;
  const answer = await run(python, ["-c", PROBE], { env, timeout: PROBE_TIMEOUT_MS, windowsHide: true }).catch(
    (cause: unknown) => {
      const stderr = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim().split("\n")[0] : "";
      throw notFound(`${python} does not run${stderr === "" || stderr === undefined ? "" : `: ${stderr}`}.`, cause);
    },
  );
  const facts = readFacts(readJson(answer.stdout));
  if (facts === undefined) throw notFound(`${python} is not a Python.`);
  const [major, minor] = facts.version;
  if (major !== OLDEST[0] || minor < OLDEST[1]) {
    throw notFound(`${python} is Python ${facts.version.join(".")}; ${OLDEST.join(".")} or newer is needed.`);
  }
  return facts;
}

/** Without a writable folder the next command probes again. Code that needs the home reports the problem. */
function writeCache(cache: string, text: string): void {
  try {
    writePrivateFile(cache, text);
  } catch (error) {
    if (!UNWRITABLE.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/** Changes when the interpreter is replaced or a virtual environment is recreated at the same path. */
function stampOf(python: string): string | undefined {
  const file = statSync(python, { throwIfNoEntry: false });
  if (file === undefined || !file.isFile()) return undefined;
  const environment = statSync(join(dirname(python), "..", "pyvenv.cfg"), { throwIfNoEntry: false });
  return [python, file.mtimeMs, file.size, file.ino, environment?.mtimeMs ?? 0].join(":");
}

function readCache(path: string, stamp: string): PythonFacts | undefined {
  if (!existsSync(path)) return undefined;
  const cached = readJson(readFileSync(path, "utf8")) as { stamp?: unknown; facts?: unknown } | undefined;
  return cached?.stamp === stamp ? readFacts(cached.facts) : undefined;
}

/** Checked by hand: every command does this, and loading a schema library would take longer than the check. */
function readFacts(value: unknown): PythonFacts | undefined {
  const { base, executable, paths, prefix, version } = (value ?? {}) as Record<string, unknown>;
  const isFacts =
    typeof executable === "string" &&
    typeof base === "string" &&
    typeof prefix === "string" &&
    Array.isArray(paths) &&
    paths.every((path) => typeof path === "string") &&
    Array.isArray(version) &&
    version.length === 3 &&
    version.every(Number.isSafeInteger);
  return isFacts ? { base, executable, paths, prefix, version: [version[0], version[1], version[2]] } : undefined;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // invalid content is refused by the caller's check
    return undefined;
  }
}

function isScript(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const start = Buffer.alloc(2);
    readSync(file, start, 0, 2, 0);
    return start.toString("latin1") === "#!";
  } finally {
    closeSync(file);
  }
}

function notFound(detail: string, cause?: unknown): Error {
  return appError("python_not_found", {
    detail,
    hint: "Name a Python 3.11 or newer: --python /path/to/python3",
    cause,
  });
}
