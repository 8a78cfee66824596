import { setImmediate as nextTurn } from "node:timers/promises";
import { readManifest } from "@appdb/adapters/images/read-manifest";
import { resolveRuntime } from "@appdb/adapters/images/resolve-runtime";
import { locateTools } from "@appdb/adapters/tools/locate-tools";
import type { CliConfig } from "../config.ts";
import type { Application, ApplicationInput } from "../context.ts";
import type { Output } from "../output/output.ts";
import type { Program } from "../program.ts";
import { findApplication, type Project, saysNothing } from "./find-project.ts";

export interface ReadApplicationDeps {
  readonly config: Pick<CliConfig, "home" | "application_env">;
  readonly cwd: string;
  readonly out: Pick<Output, "note">;
  readonly program: Pick<Program, "url">;
  readonly signal: AbortSignal;
}

/** Finds the project of an application file, checks its configuration, and imports the file in its own Python.
 *  @throws app_file_not_found, no_project, app_outside_project, config_invalid, python_not_found, environment_failed, app_invalid */
export async function readApplication(deps: ReadApplicationDeps, input: ApplicationInput): Promise<Application> {
  const { config, cwd, program, signal } = deps;
  const { project, app_file } = findApplication(cwd, input.file);
  const runtime = await resolveRuntime({
    project_root: project.root,
    python: input.python,
    env: config.application_env,
    home: config.home,
    tools: locateTools({ program_url: program.url, postgres_bin: undefined }),
  });
  // What the file prints while it is imported is the person's own message to themselves.
  const onOutput = (text: string) => deps.out.note(text.trimEnd());
  const reading = readManifest({ runtime, app_file, signal, onOutput });
  const checking = checkConfig(project);
  const [checked, read] = await Promise.allSettled([checking, reading]);
  if (checked.status === "rejected") throw checked.reason;
  if (read.status === "rejected") throw read.reason;
  return { manifest: read.value, runtime };
}

/** Checks the configuration while Python runs. Loading the schema takes half as long as that and holds up whatever else the
 *  command does, so it comes last: the first turn is for the parser of the command line, the second for calling the
 *  daemon. A file as `cli init` writes it has nothing in it that could be wrong. */
async function checkConfig(project: Project): Promise<void> {
  if (saysNothing(project.text)) return;
  await nextTurn();
  await nextTurn();
  const { readConfig } = await import("./read-config.ts");
  readConfig(project);
}
