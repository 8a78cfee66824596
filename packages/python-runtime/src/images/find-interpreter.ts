import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { uvPythonsSchema } from "@appdb/contract/control/image-documents";
import { appError } from "@appdb/contract/errors";
import { type PythonFacts, probePython } from "./probe-python.ts";
import { compare, isOfVersion, type PythonVersion, satisfies } from "./python-versions.ts";

const LIST_TIMEOUT_MS = 60_000;
const DOWNLOAD_TIMEOUT_MS = 5 * 60_000;
/** Age of the list after which newly installed Pythons are found. */
const LIST_AGE_MS = 5 * 60_000;
const LIST_BYTES = 4 * 1024 * 1024;
const OLDEST = [3, 11, 0] as const;
const run = promisify(execFile);

export interface InterpretersOptions {
  readonly uv: string;
  /** The installation's own Python, the fallback when there is no other. */
  readonly base_python: string | undefined;
  /** Folder of Pythons installed by uv. */
  readonly managed_folder: string;
  /** Whether uv may download a missing Python. */
  readonly may_download: boolean;
  /** Folder that caches probe results of interpreters. */
  readonly cache_folder: string;
  /**
   * PATH for finding interpreters; proxy and certificates for downloads. Contains none of the service's own variables.
   */
  readonly env: Readonly<Record<string, string>>;
}

/** Python requirements of an environment. */
export interface PythonRequest {
  /** `3.12`, `3.12.8`; null selects the newest. */
  readonly version: string | null;
  /** `requires-python` of its lock: `>=3.11,<3.14`. */
  readonly requires: string | undefined;
}

/** Interpreters for building images. */
export interface Interpreters {
  /**
   * Finds the newest matching Python of this machine; otherwise lets uv download one if allowed.
   * @throws build_failed with the requested and the available versions
   */
  find(request: PythonRequest, signal: AbortSignal): Promise<PythonFacts>;
  /**
   * Checks that a matching Python exists or that uv can download one. Downloads nothing.
   * @throws build_failed with the requested and the available versions
   */
  check(request: PythonRequest): Promise<void>;
}

/** Finds interpreters with uv, which knows where systems keep them. */
export function createInterpreters(options: InterpretersOptions): Interpreters {
  let listed: { readonly at: number; readonly facts: Promise<PythonFacts[]> } | undefined;

  async function find(request: PythonRequest, signal: AbortSignal): Promise<PythonFacts> {
    const started = Date.now();
    const known = choosePython(await list(started - LIST_AGE_MS), request);
    // the list may be older than the requested Python
    const found = known ?? choosePython(await list(started), request);
    if (found !== undefined) return found;
    const specifier = request.version ?? request.requires ?? "3";
    if (options.may_download && /^[\d.,<>=!~* ]+$/.test(specifier)) {
      await download(specifier, signal);
      listed = undefined;
      const got = choosePython(await list(started), request);
      if (got !== undefined) return got;
    }
    throw noPython(request, await list(started), options.may_download);
  }

  async function check(request: PythonRequest): Promise<void> {
    const started = Date.now();
    const found =
      choosePython(await list(started - LIST_AGE_MS), request) ??
      choosePython(await list(started), request) ??
      (options.may_download ? await findKnown(request) : undefined);
    if (found === undefined) throw noPython(request, await list(started), options.may_download);
  }

  /** Finds a Python that uv can download. uv has the list built in. */
  async function findKnown(request: PythonRequest): Promise<{ readonly version: PythonVersion } | undefined> {
    const versions = await listVersions(options, ["--all-versions", "--only-downloads"]);
    return choosePython(
      versions.map(({ version }) => ({ version: readVersion(version) })),
      request,
    );
  }

  async function list(notBefore: number): Promise<PythonFacts[]> {
    if (listed === undefined || listed.at < notBefore) {
      const facts = listPythons(options);
      listed = { at: Date.now(), facts };
      facts.catch(() => {
        listed = undefined;
      });
    }
    return await listed.facts;
  }

  async function download(specifier: string, signal: AbortSignal): Promise<void> {
    const args = ["python", "install", "--no-bin", "--no-config", "--no-progress", "--install-dir"];
    const env = { ...options.env, UV_PYTHON_INSTALL_DIR: options.managed_folder };
    await run(options.uv, [...args, options.managed_folder, specifier], {
      env,
      signal,
      timeout: DOWNLOAD_TIMEOUT_MS,
    }).catch((cause: unknown) => {
      signal.throwIfAborted();
      const stderr = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : "";
      const reason = stderr
        .split("\n")
        .map((line) => line.replace(/^\s*(error|cause):\s*/, "").trim())
        .find((line) => line !== "");
      throw appError("build_failed", {
        detail: `Python ${specifier} is not on this machine, and uv could not get it${reason === undefined ? "" : `: ${reason}`}.`,
        hint: "Choose a Python that the machine has by python_version in the database's entry, or try again: cli db build-image <db_uri>",
        meta: { python_version: specifier },
        cause,
      });
    });
  }

  return { find, check };
}

/** The newest interpreter that matches a request; undefined when none does. */
export function choosePython<Found extends Pick<PythonFacts, "version">>(
  found: readonly Found[],
  request: PythonRequest,
): Found | undefined {
  const fitting = found.filter(
    ({ version }) =>
      compare(version, OLDEST) >= 0 &&
      (request.version === null || isOfVersion(version, request.version)) &&
      (request.requires === undefined || satisfies(version, request.requires)),
  );
  return fitting.sort((a, b) => compare(b.version, a.version))[0];
}

async function listPythons(options: InterpretersOptions): Promise<PythonFacts[]> {
  const { base_python: basePython, cache_folder: cacheFolder } = options;
  const versions = await listVersions(options, ["--only-installed"]);
  const paths = versions.flatMap(({ path }) => path ?? []);
  const candidates = basePython === undefined ? paths : [basePython, ...paths];
  const facts = await Promise.all(
    candidates.map((python) =>
      // interpreters that do not run or are too old are skipped
      probePython({ python, cache_folder: cacheFolder, env: options.env }).catch(() => undefined),
    ),
  );
  return facts.filter((fact) => fact !== undefined);
}

/** Final versions of CPython known to uv. */
async function listVersions({ env, managed_folder: managedFolder, uv }: InterpretersOptions, which: readonly string[]) {
  const { stdout } = await run(uv, ["python", "list", ...which, "--no-config", "--output-format", "json"], {
    env: { ...env, UV_PYTHON_INSTALL_DIR: managedFolder },
    timeout: LIST_TIMEOUT_MS,
    maxBuffer: LIST_BYTES,
  });
  return uvPythonsSchema
    .parse(JSON.parse(stdout))
    .filter((one) => one.implementation === "cpython" && one.variant === "default" && isFinal(one.version));
}

function readVersion(version: string): PythonVersion {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  return [major, minor, patch];
}

function isFinal(version: string): boolean {
  return /^\d+\.\d+\.\d+$/.test(version);
}

function noPython({ version, requires }: PythonRequest, found: readonly PythonFacts[], mayDownload: boolean): Error {
  const candidates = [
    version === null ? undefined : `Python ${version}`,
    requires === undefined ? undefined : `requires-python ${requires}`,
  ];
  const there = [...new Set(found.map((one) => printVersion(one.version)))].join(", ");
  const ways = mayDownload ? "uv cannot download one" : "this server downloads no others";
  return appError("build_failed", {
    detail: `No Python fits ${candidates.filter((one) => one !== undefined).join(" and ") || "3.11 or newer"}: this machine has ${there || "none"}, and ${ways}.`,
    hint: "Choose one of them by python_version in the database's entry, or change requires-python and run: uv lock",
    meta: { python_version: version, requires_python: requires, found: there },
  });
}

/** `3.12.8` */
export function printVersion(version: PythonVersion): string {
  return version.join(".");
}
