import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { IMAGE_PATHS, readImage } from "./image-folder.ts";
import type { PythonFacts } from "./probe-python.ts";
import { interpreterOf } from "./venv-images.ts";

const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";

/** How to run the Python of an image. */
export interface ImageRuntime {
  readonly python: string;
  /** Input of `findLibraryPaths`, with the interpreter that the image was made from. */
  readonly facts: PythonFacts;
  /** Folders that it reads in addition to the system's. */
  readonly folders: readonly string[];
  /** Paths of its programs and libraries. They precede the same variables of the application's environment. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Describes how to run an image, from the file that its builder wrote next to it. Packages wrote the image's contents,
 * so nothing in it is run or read here.
 * @throws environment_failed when the image is missing or incomplete
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
