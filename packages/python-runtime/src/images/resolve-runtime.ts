import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import { homeError } from "@appdb/contract/home-error";
import type { Runtime } from "@appdb/contract/runtime";
import type { Tools } from "@appdb/system/tools/locate-tools";
import { defaultPythonName, findPython } from "./find-python.ts";
import { findLibraryPaths } from "./library-paths.ts";
import { type PythonFacts, probePython } from "./probe-python.ts";
import { isOfVersion } from "./python-versions.ts";
import { ensureVenvImage, findPackageSource, interpreterOf } from "./venv-images.ts";

export interface ResolveRuntimeInput {
  readonly project_root: string;
  /** `--python`: a path, a program on PATH, or a version such as `3.12`. */
  readonly python: string | undefined;
  /** Version that the project requests, `3.12` or `3.12.8`. `--python` takes precedence. */
  readonly python_version?: string | undefined;
  /** Options for uv when it builds an environment. */
  readonly uv_options?: string | undefined;
  /** Environment variables of the application. */
  readonly env: Readonly<Record<string, string>>;
  readonly home: string;
  readonly tools: Tools;
}

/**
 * Chooses the Python of an application. The first match wins: `--python`; an environment built from its `uv.lock` or
 * `requirements.txt`; the active virtual environment; the base library alone. The usual case starts no process. A
 * project that requests a version gets an environment of that version, or such a Python from the PATH. A virtual
 * environment of another version is refused, because its packages would be missing elsewhere.
 * @throws python_not_found, environment_failed; home_not_writable, disk_full when the home must be written
 */
export async function resolveRuntime(input: ResolveRuntimeInput): Promise<Runtime> {
  try {
    return await resolve(input);
  } catch (error) {
    const { path } = error as NodeJS.ErrnoException;
    throw path?.startsWith(input.home) === true ? homeError(input.home, error) : error;
  }
}

async function resolve(input: ResolveRuntimeInput): Promise<Runtime> {
  const { home, project_root: projectRoot, tools } = input;
  const env = { ...input.env };
  const { python, source } = await choosePython(input);
  const facts = await probePython({ python, cache_folder: join(home, HOME_PATHS.pythons), env });
  if (source === "virtual environment" || source === "base library") refuseVersion(input, source, facts);
  const libraryPaths = await findLibraryPaths({ facts, tools, home, env });
  return {
    python: facts.executable || python,
    python_source: source,
    project_root: projectRoot,
    library_paths: libraryPaths,
    env,
  };
}

async function choosePython(input: ResolveRuntimeInput): Promise<{ python: string; source: string }> {
  const { env, home, project_root: projectRoot, python, tools } = input;
  if (python !== undefined) return { python: findPython(python, env), source: "--python" };
  const source = findPackageSource(projectRoot);
  if (source !== undefined) {
    if (tools.uv === undefined) {
      throw appError("environment_failed", {
        detail: `${source} of ${projectRoot} requires an environment, but this installation has no uv to build it.`,
        hint: "Install uv with pip install 'appdb[serve]', or choose a Python that has the packages: --python",
      });
    }
    const imagesFolder = join(home, HOME_PATHS.images);
    const { python_version: pythonVersion, uv_options: uvOptions } = input;
    const basePython = tools.base_python;
    const image = {
      uv: tools.uv,
      project_root: projectRoot,
      base_python: basePython,
      python_version: pythonVersion,
      uv_options: uvOptions,
      images_folder: imagesFolder,
      env,
    };
    return { python: await ensureVenvImage(source, image), source };
  }
  const active = env.VIRTUAL_ENV;
  if (active !== undefined && active !== "") return { python: interpreterOf(active), source: "virtual environment" };
  return { python: await findBase(input), source: "base library" };
}

/** The installation's own Python, otherwise one of the version that the project requests. */
async function findBase({ env, home, python_version: pythonVersion, tools }: ResolveRuntimeInput): Promise<string> {
  const base = tools.base_python ?? findPython(defaultPythonName(), env);
  if (pythonVersion === undefined) return base;
  const facts = await probePython({ python: base, cache_folder: join(home, HOME_PATHS.pythons), env });
  return isOfVersion(facts.version, pythonVersion) ? base : findPython(pythonVersion.split(".", 2).join("."), env);
}

/** @throws python_not_found when the project requests another version than the one found */
function refuseVersion(
  { env, python_version: pythonVersion }: ResolveRuntimeInput,
  source: string,
  facts: PythonFacts,
): void {
  if (pythonVersion === undefined || isOfVersion(facts.version, pythonVersion)) return;
  const found = source === "virtual environment" ? `the active environment ${env.VIRTUAL_ENV}` : facts.executable;
  throw appError("python_not_found", {
    detail: `The project's local database requires Python ${pythonVersion}; ${found} has ${facts.version.join(".")}.`,
    hint: `Name a Python of that version: --python /path/to/python${pythonVersion.split(".", 2).join(".")}, or change python_version.`,
  });
}
