import { execFile } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { appError } from "@appdb/contract/errors";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { textKey } from "./text-key.ts";

const PROBE_TIMEOUT_MS = 20_000;
const OLDEST = [3, 11] as const;
/** Errors of a folder that is somebody else's, a file, read-only, or on a full disk. */
const UNWRITABLE = ["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "disk_full"];
const run = promisify(execFile);

/** Prints facts of an interpreter: version, its own path, and where its packages lie. */
const PROBE = `import sys,json
print(json.dumps({"version":list(sys.version_info[:3]),"executable":sys.executable,"base":getattr(sys,"_base_executable",None) or sys.executable,"prefix":sys.base_prefix,"paths":[p for p in sys.path if p.endswith(("site-packages","dist-packages"))]}))`;

export interface PythonFacts {
  readonly version: readonly [number, number, number];
  /** The interpreter itself, where `python` was a shim. */
  readonly executable: string;
  /** The interpreter that a virtual environment was made from; `executable` itself where there is none. */
  readonly base: string;
  /** Folder of the base interpreter with its standard library. */
  readonly prefix: string;
  /** Its site-packages folders. */
  readonly paths: readonly string[];
}

export interface ProbeInput {
  /** Path of an interpreter. */
  readonly python: string;
  /** Where answers are kept. */
  readonly cache_folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Finds out about an interpreter. Running it takes longer than the whole rest of a command, so the answer is kept until
 * the interpreter's file changes.
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
  // a shim that starts one Python today and another one tomorrow keeps its file
  if (!isScript(python)) keepAnswer(cache, JSON.stringify({ stamp, facts }));
  return facts;
}

/** True when `import name` finds a package in the interpreter's own folders. */
export function hasPackage(facts: PythonFacts, name: string): boolean {
  return facts.paths.some((folder) => existsSync(join(folder, name, "__init__.py")));
}

/** `3.12`. */
export function minorVersion(facts: PythonFacts): string {
  return `${facts.version[0]}.${facts.version[1]}`;
}

async function askPython(input: ProbeInput): Promise<PythonFacts> {
  const { python } = input;
  // what the application puts on its import path is not the interpreter's
  const { PYTHONHOME: _home, PYTHONPATH: _path, ...env } = input.env;
  const answer = await run(python, ["-c", PROBE], { env, timeout: PROBE_TIMEOUT_MS, windowsHide: true }).catch(
    (cause: unknown) => {
      const said = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim().split("\n")[0] : "";
      throw notFound(`${python} does not run${said === "" || said === undefined ? "" : `: ${said}`}.`, cause);
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

/** Where nothing can be written the next command asks again; whoever needs the home says what is wrong with it. */
function keepAnswer(cache: string, text: string): void {
  try {
    writePrivateFile(cache, text);
  } catch (error) {
    if (!UNWRITABLE.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/** Changes when the interpreter is replaced or a virtual environment is made anew at the same path. */
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

/** By hand: the command runs this at every start, and loading a schema library would cost more than all of it. */
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
    // not what we wrote or asked for; the caller's schema refuses it
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
