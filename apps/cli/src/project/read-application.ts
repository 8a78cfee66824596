import { setImmediate as nextTurn } from "node:timers/promises";
import type { DatabaseEntry } from "@appdb/contract/service-toml";
import { resolveRuntime } from "@appdb/python-runtime/images/resolve-runtime";
import { readManifest } from "@appdb/python-runtime/workers/read-manifest";
import { locateTools } from "@appdb/system/tools/locate-tools";
import type { CliConfig } from "../config/config.ts";
import type { Application, ApplicationInput } from "../context.ts";
import type { Output } from "../output/output.ts";
import type { Program } from "../program.ts";
import { findApplication, isBlankConfig, type Project } from "./find-project.ts";

export interface ReadApplicationDeps {
  readonly config: Pick<CliConfig, "home" | "application_env">;
  readonly cwd: string;
  readonly out: Pick<Output, "note">;
  readonly program: Pick<Program, "url">;
  readonly signal: AbortSignal;
  /** Milliseconds after which a message says that the file is still being read. */
  readonly slow_ms?: number;
}

const SLOW_MS = 5_000;

/**
 * Finds the project of an application file, checks its configuration, and imports the file with its own Python.
 * @throws app_file_not_found, no_project, app_outside_project, config_invalid, python_not_found, environment_failed,
 * app_invalid
 */
export async function readApplication(deps: ReadApplicationDeps, input: ApplicationInput): Promise<Application> {
  const { config, cwd, program, slow_ms: slowMs = SLOW_MS } = deps;
  const signal = input.signal === undefined ? deps.signal : AbortSignal.any([deps.signal, input.signal]);
  const { project, app_file: appFile } = findApplication(cwd, input.file);
  // Settings that choose Python must be known before it starts; the rest is read while it runs.
  const early = selectsPython(project.text) ? await readEntry(project) : undefined;
  const resolved = await resolveRuntime({
    project_root: project.root,
    python: input.python,
    python_version: early?.python_version,
    uv_options: early?.uv_options,
    env: config.application_env,
    home: config.home,
    tools: locateTools({ program_url: program.url, postgres_bin: undefined }),
  });
  // Output of the file during its import is shown to its author.
  const onOutput = (text: string) => deps.out.note(text.trimEnd());
  const slow = setTimeout(() => deps.out.note(slowReadWarning(appFile, slowMs)), slowMs);
  const reading = readManifest({ runtime: resolved, app_file: appFile, signal, onOutput }).finally(() =>
    clearTimeout(slow),
  );
  const [checked, read] = await Promise.allSettled([early ?? readEntryLater(project), reading]);
  if (checked.status === "rejected") throw checked.reason;
  if (read.status === "rejected") throw read.reason;
  const { ignored, workers } = checked.value;
  if (ignored.length > 0) deps.out.note(warningOf(project, ignored));
  return { manifest: read.value, runtime: workers === undefined ? resolved : { ...resolved, workers } };
}

function slowReadWarning(appFile: string, ms: number): string {
  return `${appFile} has been running for ${ms / 1000} s and is not read yet. Python runs the whole file to read it, so put loops, servers and network calls into functions. Press Ctrl-C to stop.`;
}

/** Settings of the local database's entry that take effect here, and keys without effect. */
interface LocalSettings extends Pick<DatabaseEntry, "python_version" | "uv_options" | "workers"> {
  readonly ignored: readonly string[];
}

/** Whether an entry may request a Python version. Comments, as `cli init` writes them, do not count. */
function selectsPython(text: string): boolean {
  return !isBlankConfig(text) && /^[^#\n]*\b(python_version|uv_options)\b/m.test(text);
}

async function readEntry(project: Project): Promise<LocalSettings> {
  const [{ readConfig }, { ignoredLocally, localEntry }] = await Promise.all([
    import("./read-config.ts"),
    import("@appdb/contract/service-toml"),
  ]);
  const entry = localEntry(readConfig(project));
  return { ...entry, ignored: ignoredLocally(entry) };
}

function warningOf({ config_file: configFile }: Project, ignored: readonly string[]): string {
  const keys = ignored.join(", ");
  return `warning: ${configFile}: ${keys} of the local database ${ignored.length === 1 ? "has" : "have"} no effect; only hosted databases have them.`;
}

/**
 * Checks the configuration while Python runs. Loading the schema takes half as long as Python and blocks the command's
 * other work, so it comes last: first the command-line parser, then the call of the daemon. A file as `cli init` writes
 * it cannot be invalid and is skipped.
 */
async function readEntryLater(project: Project): Promise<LocalSettings> {
  if (isBlankConfig(project.text)) return { ignored: [] };
  await nextTurn();
  await nextTurn();
  return await readEntry(project);
}
