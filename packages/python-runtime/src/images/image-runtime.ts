import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { IMAGE_PATHS, readImage } from "./image-folder.ts";
import type { PythonFacts } from "./probe-python.ts";
import { interpreterOf } from "./venv-images.ts";

const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";

/** How the Python of an image is run. */
export interface ImageRuntime {
  readonly python: string;
  /** For `findLibraryPaths`; the interpreter in them is the one that the image was made from. */
  readonly facts: PythonFacts;
  /** What of the machine it reads, beside the system. */
  readonly folders: readonly string[];
  /** Where its programs and libraries lie; stands before what the application's environment says of the same. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Says how an image is run, from what its builder wrote beside it: what lies in the image itself was written by packages, and is neither
 * run nor read for this.
 * @throws environment_failed when there is no whole image
 */
export function imageRuntime(imageFolder: string): ImageRuntime {
  const image = readImage(imageFolder);
  if (image === undefined) {
    throw appError("environment_failed", {
      detail: "The database's image is not on this machine.",
      hint: "Build it again: cli db build-image <db_uri>",
    });
  }
  const { base_python: basePython, python, python_prefix: pythonPrefix, system } = image;
  const [major = 0, minor = 0, patch = 0] = python.split(".").map(Number);
  const venv = join(imageFolder, IMAGE_PATHS.venv);
  const inSystem = (path: string) => join(imageFolder, IMAGE_PATHS.system, path);
  const { library_paths: libraryPaths, program_paths: programPaths } = system ?? {
    library_paths: [],
    program_paths: [],
  };
  const programs = [join(venv, "bin"), ...programPaths.map(inSystem), SYSTEM_PATH];
  const libraries = libraryPaths.map(inSystem);
  return {
    python: interpreterOf(venv),
    facts: {
      version: [major, minor, patch],
      executable: basePython,
      base: basePython,
      prefix: pythonPrefix,
      paths: [join(venv, "lib", `python${major}.${minor}`, "site-packages")],
    },
    folders: pythonPrefix === "/usr" ? [imageFolder] : [imageFolder, pythonPrefix],
    env: {
      PATH: programs.join(":"),
      VIRTUAL_ENV: venv,
      ...(libraries.length === 0 ? {} : { LD_LIBRARY_PATH: libraries.join(":") }),
    },
  };
}
