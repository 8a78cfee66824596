import { existsSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import type { Runtime } from "@appdb/contract/runtime";
import { imageRuntime } from "@appdb/python-runtime/images/image-runtime";
import { findLibraryPaths } from "@appdb/python-runtime/images/library-paths";
import { minorVersion, probePython } from "@appdb/python-runtime/images/probe-python";
import type { Tools } from "@appdb/system/tools/locate-tools";

export interface RuntimeDeps {
  readonly home: string;
  readonly tools: Tools;
}

/** The application's Python, without file paths and environment. */
export interface FoundRuntime {
  readonly runtime: Pick<Runtime, "python" | "python_source" | "python_version" | "library_paths">;
  /** Program and library paths, which override the database's own variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Folders that it reads in addition to the system's. */
  readonly folders: readonly string[];
}

/** The environment of our own Python, without the server's settings and credentials. */
const OWN_ENV = { PATH: process.platform === "win32" ? "" : "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" };

/**
 * The Python of an image, or the installation's own with the base library. Runs nothing of an image, whose content is a
 * tenant's.
 * @throws environment_failed, python_not_found
 */
export async function findRuntime(deps: RuntimeDeps, imageFolder: string | undefined): Promise<FoundRuntime> {
  const { home, tools } = deps;
  if (tools.base_python === undefined) {
    throw appError("environment_failed", {
      detail:
        "This installation has no Python to run applications: its environment is missing, or this user may not run the Python behind it.",
      hint: "Build the product with a Python that this user may run, outside of another user's home: npm run setup (or pip install 'appdb[serve]')",
    });
  }
  const image = imageFolder === undefined ? undefined : imageRuntime(imageFolder);
  const facts =
    image?.facts ??
    (await probePython({ python: tools.base_python, cache_folder: join(home, HOME_PATHS.pythons), env: OWN_ENV }));
  const libraryPaths = await findLibraryPaths({ facts, tools, home, env: OWN_ENV });
  const python = image?.python ?? facts.executable;
  const pythonSource = image === undefined ? "base library" : "image";
  const libraries = libraryPaths.flatMap(withLinks);
  return {
    runtime: { python, python_source: pythonSource, python_version: minorVersion(facts), library_paths: libraryPaths },
    env: image?.env ?? {},
    folders: [...(image?.folders ?? homesOf(python)), ...libraries],
  };
}

/** The folders of an interpreter: its environment's, and those of the Python behind its link. */
function homesOf(python: string): string[] {
  const environment = dirname(dirname(python));
  const real = dirname(dirname(realpathSync(python)));
  return real === "/usr" || real === environment ? [environment] : [environment, real];
}

/** A folder and the targets of the links in it. */
function withLinks(folder: string): string[] {
  if (!existsSync(folder)) return [folder];
  const inside = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
  return [folder, ...inside.map((entry) => realpathSync(join(folder, entry.name)))];
}
