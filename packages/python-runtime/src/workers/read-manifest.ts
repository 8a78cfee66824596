import type { ChildProcess } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { AppError, appError, ERRORS, type ErrorCode } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { Runtime } from "@appdb/contract/runtime";
import { HAS_GROUPS, killGroup } from "@appdb/system/processes/kill-group";
import { spawnPython } from "@appdb/system/processes/spawn-python";

/** Timeout of an import, which may load models or wait for a network. */
export const MANIFEST_TIMEOUT_MS = 5 * 60 * 1000;
/** Maximum size of a manifest that a server accepts. One with 50,000 modules has half of it. */
export const MAX_MANIFEST_BYTES = 16_000_000;
const LAST_WORDS = 2_000;
/** Equivalent to `-m appdb.manifest`, but 4 ms faster. */
const WRITER = "from appdb.manifest import run; run()";
/** Equal to MANIFEST_VERSION of contract/manifest.ts, whose module would load the schemas. A test compares them. */
export const READS_VERSION = 1;

export interface ReadManifestInput {
  readonly runtime: Runtime;
  /** Path of the application file, absolute or from the project root. */
  readonly app_file: string;
  /** Receives output of the application during its import; dropped when absent. */
  readonly onOutput?: ((text: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Output of the manifest writer for a mistake in the file. */
interface ErrorDocument {
  readonly code: string;
  readonly detail: string;
  readonly hint?: string | null;
  readonly source?: { readonly file: string; readonly line: number } | null;
  readonly written?: string | null;
}

/**
 * Imports an application file in its own Python and returns its declarations. Checks only the manifest's version: the
 * daemon parses the whole manifest, and loading the schemas here would slow down every command.
 * @throws app_invalid and other errors of the file, with file and line; manifest_invalid, manifest_too_new;
 * environment_failed; python_not_found
 */
export async function readManifest(input: ReadManifestInput): Promise<Manifest> {
  return takeManifest(input, await runWriter(input));
}

/** Output of a run of the manifest writer. */
export interface WrittenManifest {
  readonly stdout: string;
  /** Only the end is kept. */
  readonly stderr: string;
  /** How it ended when it failed: `code 1`, `signal SIGKILL`. */
  readonly ending: string | undefined;
}

/** Arguments of a Python that writes a file's manifest to standard output. */
export function manifestArguments({
  app_file: appFile,
  project_root: projectRoot,
}: {
  app_file: string;
  project_root: string;
}): string[] {
  return ["-P", "-c", WRITER, "--root", projectRoot, appFile];
}

/** Parses the output of a writer's run as a manifest. @throws the same errors as readManifest */
export function takeManifest(
  input: Pick<ReadManifestInput, "app_file"> & { readonly runtime: Pick<Runtime, "python"> },
  { ending, stderr, stdout }: WrittenManifest,
): Manifest {
  const document = parseJson(stdout);
  const failure = readErrorDocument(document);
  if (failure !== undefined) throw applicationError(failure);
  if (ending !== undefined || document === undefined) throw writerFailed(input, ending, stderr);
  refuseOtherVersion(document);
  return document as Manifest;
}

async function runWriter(input: ReadManifestInput): Promise<WrittenManifest> {
  const { app_file: appFile, runtime, signal } = input;
  const args = manifestArguments({ app_file: appFile, project_root: runtime.project_root });
  const child = spawnPython(
    { runtime, args, stdin: "ignore" },
    {
      cwd: runtime.project_root,
      // A separate group: signals of the file to its group must not reach the calling process.
      detached: HAS_GROUPS,
      windowsHide: true,
    },
  );
  const end = () => killGroup(child);
  const timer = setTimeout(end, MANIFEST_TIMEOUT_MS);
  signal?.addEventListener("abort", end, { once: true });
  // In its own group, the terminal's signals do not end it with this process.
  process.once("exit", end);
  const chunks: Buffer[] = [];
  let stderr = "";
  const decoder = new StringDecoder("utf8");
  child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => {
    const text = decoder.write(chunk);
    stderr = (stderr + text).slice(-LAST_WORDS);
    input.onOutput?.(text);
  });
  try {
    if (signal?.aborted === true) end();
    const ending = await endOf(child, runtime);
    if (signal?.aborted === true) throw appError("interrupted", { detail: `Reading ${appFile} was interrupted.` });
    return { stdout: Buffer.concat(chunks).toString("utf8"), stderr, ending };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
    process.off("exit", end);
  }
}

/** How it ended when it failed. Also ends leftovers in its group. @throws python_not_found */
function endOf(child: ChildProcess, runtime: Runtime): Promise<string | undefined> {
  return new Promise((settle, reject) => {
    child.once("error", (cause) => {
      reject(
        appError("python_not_found", {
          detail: `${runtime.launcher?.[0] ?? runtime.python} cannot be run.`,
          hint: "Name a Python 3.11 or newer: --python /path/to/python3",
          cause,
        }),
      );
    });
    child.once("exit", () => killGroup(child));
    child.once("close", (code, by) => {
      const how = by === null ? `code ${code}` : `signal ${by}`;
      settle(code === 0 ? undefined : how);
    });
  });
}

function applicationError(error: ErrorDocument): AppError {
  const code: ErrorCode = error.code in ERRORS ? (error.code as ErrorCode) : "app_invalid";
  const { hint, source, written } = error;
  const location = source == null ? "" : `${source.file}:${source.line}: `;
  const line = written == null || written === "" ? "" : `\n    ${written.trim()}`;
  return appError(code, {
    detail: `${location}${error.detail}${line}`,
    hint: hint ?? undefined,
    meta: { ...(source == null ? {} : { source }), ...(written == null ? {} : { written }) },
  });
}

/** The writer reports every mistake of a file in a document. Without one, Python or the environment failed. */
function writerFailed(input: Parameters<typeof takeManifest>[0], ending: string | undefined, stderr: string): AppError {
  const words = stderr.trim().split("\n").at(-1) ?? "";
  if (/No module named '?(appdb|msgpack)/.test(words)) {
    return appError("environment_failed", {
      detail: `${input.runtime.python} does not find the library: ${words}`,
      hint: "Install it into the application's environment: pip install appdb",
    });
  }
  return appError("app_invalid", {
    detail: `Python ended with ${ending ?? "no answer"} while it read ${input.app_file}.${words === "" ? "" : ` It printed: ${words}`}`,
    hint: `Run it by hand: ${input.runtime.python} -m appdb.manifest ${input.app_file}`,
    meta: { app_file: input.app_file },
  });
}

/** Server paths are private: errors name files relative to the project root. */
export function withoutPaths(
  error: unknown,
  { project_root: projectRoot, python }: Pick<Runtime, "project_root" | "python">,
): unknown {
  if (!(error instanceof AppError)) return error;
  const clean = (text: string) => text.replaceAll(`${projectRoot}/`, "").replaceAll(python, "python");
  return appError(error.code, {
    detail: clean(error.message),
    hint: error.hint === undefined ? undefined : clean(error.hint),
    meta: error.meta,
    errors: error.errors,
    cause: error,
  });
}

function readErrorDocument(document: unknown): ErrorDocument | undefined {
  const error = (document as { error?: Partial<ErrorDocument> } | null | undefined)?.error;
  return typeof error?.code === "string" && typeof error.detail === "string" ? (error as ErrorDocument) : undefined;
}

function refuseOtherVersion(document: unknown): void {
  const version = (document as { manifest_version?: unknown } | null)?.manifest_version;
  if (version === READS_VERSION) return;
  if (typeof version === "number" && version > READS_VERSION) {
    throw appError("manifest_too_new", {
      detail: `The library in the application's environment writes manifest version ${version}; this command reads up to ${READS_VERSION}.`,
      hint: "Upgrade the command: pip install --upgrade 'appdb[serve]'",
      meta: { version, newest: READS_VERSION },
    });
  }
  throw appError("manifest_invalid", {
    detail: "The library in the application's environment did not write a valid manifest.",
    hint: "Upgrade it there: pip install --upgrade appdb",
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // the caller reports the process's output instead
    return undefined;
  }
}
