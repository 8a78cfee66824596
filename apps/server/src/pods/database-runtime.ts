import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { findLibraryPaths } from "@appdb/adapters/images/library-paths";
import { type PythonFacts, probePython } from "@appdb/adapters/images/probe-python";
import type { Tools } from "@appdb/adapters/tools/locate-tools";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import type { Runtime } from "@appdb/contract/routes/local";

export interface RuntimeDeps {
  readonly home: string;
  readonly tools: Tools;
}

/** The application's Python, but for where its files lie and its environment. */
export interface FoundRuntime {
  readonly runtime: Pick<Runtime, "python" | "python_source" | "library_paths">;
  /** What of the machine it reads, beside the system. */
  readonly folders: readonly string[];
}

/** What our own Python is started with; nothing of the server's own settings or credentials. */
const OWN_ENV = { PATH: process.platform === "win32" ? "" : "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" };

/**
 * The Python of an image, or the installation's own with the base library alone. Nothing of an image is run for it: what it holds
 * belongs to a tenant.
 * @throws environment_failed, python_not_found
 */
export async function findRuntime(deps: RuntimeDeps, image_folder: string | undefined): Promise<FoundRuntime> {
  const { home, tools } = deps;
  if (tools.base_python === undefined) {
    throw appError("environment_failed", {
      detail: "This installation has no Python to run applications with.",
      hint: "Install it anew with its extra: pip install 'appdb[serve]'",
    });
  }
  const facts =
    image_folder === undefined
      ? await probePython({ python: tools.base_python, cache_folder: join(home, HOME_PATHS.pythons), env: OWN_ENV })
      : readImageFacts(image_folder);
  const library_paths = await findLibraryPaths({ facts, tools, home, env: OWN_ENV });
  const python = image_folder === undefined ? facts.executable : join(image_folder, "bin", "python");
  const source = image_folder === undefined ? "base library" : "image";
  const libraries = library_paths.flatMap(withLinks);
  return {
    runtime: { python, python_source: source, library_paths },
    folders: [...homesOf(python), ...libraries],
  };
}

/** What an environment says of itself in its files: running its interpreter would run what a tenant put there. */
function readImageFacts(folder: string): PythonFacts {
  const text = readFileSync(join(folder, "pyvenv.cfg"), "utf8");
  const value = (name: string) => new RegExp(`^${name}\\s*=\\s*(.+)$`, "m").exec(text)?.[1]?.trim();
  const version = (value("version_info") ?? value("version") ?? "").split(".").slice(0, 3).map(Number);
  const [major, minor, patch = 0] = version;
  const base = value("home");
  if (major === undefined || minor === undefined || !version.every(Number.isSafeInteger) || base === undefined) {
    throw appError("environment_failed", {
      detail: `The image in ${folder} is no Python environment any more: its pyvenv.cfg does not say version and home.`,
      hint: "Build it again: cli db build-image",
    });
  }
  const paths = [join(folder, "lib", `python${major}.${minor}`, "site-packages")];
  const executable = join(base, `python${major}.${minor}`);
  return { version: [major, minor, patch], executable, base: executable, prefix: dirname(base), paths };
}

/** The folders of an interpreter: its environment's and, behind its link, those of the Python that this was made from. */
function homesOf(python: string): string[] {
  const environment = dirname(dirname(python));
  const real = dirname(dirname(realpathSync(python)));
  return real === "/usr" || real === environment ? [environment] : [environment, real];
}

/** A folder, and where the links in it lead. */
function withLinks(folder: string): string[] {
  if (!existsSync(folder)) return [folder];
  const inside = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
  return [folder, ...inside.map((entry) => realpathSync(join(folder, entry.name)))];
}
