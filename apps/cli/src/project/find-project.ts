import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import * as ownPath from "node:path";
import { basename, dirname, join, relative, resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import { nearestName } from "@appdb/contract/nearest";

/** A project: its root folder and the configuration file that defines it. */
export interface Project {
  /** Real path. */
  readonly root: string;
  readonly config_file: "service.toml" | "pyproject.toml";
  /** The text of that file. */
  readonly text: string;
}

/**
 * The nearest folder at or above `folder` with a service.toml, or with a pyproject.toml that has a `[tool.service]`
 * section. In one folder, service.toml takes precedence. Undefined when there is none.
 */
export function findProject(folder: string): Project | undefined {
  for (const at of upwards(realpathSync(folder))) {
    for (const configFile of ["service.toml", "pyproject.toml"] as const) {
      const text = readIfThere(join(at, configFile));
      if (text !== undefined && (configFile === "service.toml" || mentionsService(text))) {
        return { root: at, config_file: configFile, text };
      }
    }
  }
  return undefined;
}

/**
 * Whether a pyproject.toml configures us. Checks only headers, to find a root without parsing TOML. The section is
 * validated when it is read.
 */
export function mentionsService(pyproject: string): boolean {
  return /^\s*\[\[?\s*tool\s*\.\s*service\s*[.\]]/m.test(pyproject) || /^\s*tool\.service\b/m.test(pyproject);
}

/** Whether a configuration contains only the local database's name, besides comments. */
export function isBlankConfig(text: string): boolean {
  const lines = text.split(/\r?\n/).filter((line) => !/^\s*(#.*)?$/.test(line));
  return lines.length === 0 || (lines.length === 1 && /^\s*\[\[service\.database\]\]\s*(#.*)?$/.test(lines[0] ?? ""));
}

export interface FoundApplication {
  readonly project: Project;
  /** Absolute real path. */
  readonly file: string;
  /** Relative to the root, separated by `/`. */
  readonly app_file: string;
}

/**
 * Finds an application file and its project: the project of `cwd`, otherwise the one above the file.
 * @throws usage, app_file_not_found, no_project, app_outside_project
 */
export function findApplication(cwd: string, typed: string): FoundApplication {
  if (typed === "-") {
    throw appError("usage", {
      detail: "'-' is the input, and an application is read from a file of its project.",
      hint: "Write it to a file, and name that: app.py",
    });
  }
  const path = resolve(cwd, typed);
  if (!existsSync(path)) {
    const suggestion = nearFile(path, cwd);
    throw appError("app_file_not_found", {
      detail: `File ${typed} not found in ${cwd}.`,
      hint:
        suggestion === undefined
          ? "Write an example to start from: cli service example --out app.py"
          : `Did you mean ${suggestion}?`,
      meta: { file: typed },
    });
  }
  const file = realpathSync(path);
  const project = findProject(cwd) ?? findProject(dirname(file));
  if (project === undefined) {
    throw appError("no_project", {
      detail: `No project found in ${cwd} or above it: expected service.toml, or [tool.service] in pyproject.toml.`,
      hint: "Make this folder a project: cli init",
    });
  }
  const appFile = pathInside(project.root, file);
  if (appFile === undefined || resolve(project.root, appFile) !== file) {
    throw appError("app_outside_project", {
      detail: `${typed} is outside the project ${project.root}.`,
      hint: `Move it into ${project.root}, or go to its own project: cd ${dirname(path)}`,
      meta: { file, project_root: project.root },
    });
  }
  if (!basename(file).endsWith(".py")) {
    throw appError("app_invalid", {
      detail: `${typed} is not a Python file.`,
      hint: "Expected the application file, for example: app.py",
      meta: { file: typed },
    });
  }
  return { project, file, app_file: appFile };
}

/**
 * The Python file that was probably meant, as the user would type it: in that folder, or in the root of the user's
 * project.
 */
function nearFile(path: string, cwd: string): string | undefined {
  const folder = dirname(path);
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".py")) : [];
  const typed = basename(path);
  const near = files.includes(`${typed}.py`) ? `${typed}.py` : nearestName(typed, files);
  if (near !== undefined) return relative(cwd, join(folder, near));
  const root = findProject(cwd)?.root;
  return root !== undefined && files.length === 0 && existsSync(join(root, typed))
    ? relative(realpathSync(cwd), join(root, typed))
    : undefined;
}

/**
 * A path relative to a parent folder, separated by `/`. Undefined when it is not below it, for example on another
 * Windows drive.
 */
export function pathInside(
  folder: string,
  path: string,
  { isAbsolute, relative, sep }: Pick<typeof ownPath, "isAbsolute" | "relative" | "sep"> = ownPath,
): string | undefined {
  const found = relative(folder, path);
  return found === ".." || found.startsWith(`..${sep}`) || isAbsolute(found) ? undefined : found.split(sep).join("/");
}

function* upwards(start: string): Generator<string> {
  for (let folder = start; ; folder = dirname(folder)) {
    yield folder;
    if (dirname(folder) === folder) return;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw appError("config_invalid", {
      detail: `${path} cannot be read: ${error instanceof Error ? error.message : error}.`,
      hint: "Make the file readable.",
      cause: error,
    });
  }
}
