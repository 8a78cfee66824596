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
export function imageRuntime(image_folder: string): ImageRuntime {
  const image = readImage(image_folder);
  if (image === undefined) {
    throw appError("environment_failed", {
      detail: "The database's image is not on this machine.",
      hint: "Build it again: cli db build-image <db_uri>",
    });
  }
  const { base_python, python, python_prefix, system } = image;
  const [major = 0, minor = 0, patch = 0] = python.split(".").map(Number);
  const venv = join(image_folder, IMAGE_PATHS.venv);
  const inSystem = (path: string) => join(image_folder, IMAGE_PATHS.system, path);
  const { library_paths, program_paths } = system ?? { library_paths: [], program_paths: [] };
  const programs = [join(venv, "bin"), ...program_paths.map(inSystem), SYSTEM_PATH];
  const libraries = library_paths.map(inSystem);
  return {
    python: interpreterOf(venv),
    facts: {
      version: [major, minor, patch],
      executable: base_python,
      base: base_python,
      prefix: python_prefix,
      paths: [join(venv, "lib", `python${major}.${minor}`, "site-packages")],
    },
    folders: python_prefix === "/usr" ? [image_folder] : [image_folder, python_prefix],
    env: {
      PATH: programs.join(":"),
      VIRTUAL_ENV: venv,
      ...(libraries.length === 0 ? {} : { LD_LIBRARY_PATH: libraries.join(":") }),
    },
  };
}
