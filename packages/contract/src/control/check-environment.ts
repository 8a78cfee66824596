import { type AppError, appError } from "../errors.ts";
import type { EnvironmentDocument } from "../routes/control-databases.ts";
import { findStaleLock } from "./check-lock.ts";
import { findPathProblem } from "./project-tree.ts";
import { findOwnOption } from "./uv-options.ts";

/** Debian package names, a version may follow: `ffmpeg`, `libpq5=17.2-1`. */
export const SYSTEM_PACKAGE = /^[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~-]+)?$/;
/** `3.12`, `3.12.8` */
export const PYTHON_VERSION = /^3\.\d{1,2}(\.\d{1,2})?$/;

/**
 * Checks a document that came from outside: every path lies in the project, every name is one, what its source needs is there, and its
 * lock is of its pyproject.toml. What its texts say otherwise is left to the build, which runs in bounds.
 * @throws environment_refused
 */
export function checkEnvironment(document: EnvironmentDocument): void {
  const { files, python_version, source, system_packages, uv_options } = document;
  const paths = new Set(files.map(({ path }) => path));
  if (paths.size !== files.length) throw refused("a file is in it twice");
  for (const path of paths) {
    const problem = findPathProblem(path.replace(/\/$/, ""));
    if (problem !== undefined) throw refused(`${JSON.stringify(path.slice(0, 100))} ${problem}`);
  }
  const needed = source === "uv.lock" ? ["uv.lock", "pyproject.toml"] : source === null ? [] : [source];
  const missing = needed.find((path) => !paths.has(path));
  if (missing !== undefined) throw refused(`it has no ${missing}`);
  if (source === null && files.length > 0) throw refused("it has files, and no source that reads them");
  if (python_version !== null && !PYTHON_VERSION.test(python_version))
    throw refused(`${JSON.stringify(python_version)} is no version of Python`);
  const odd = system_packages.find((name) => !SYSTEM_PACKAGE.test(name));
  if (odd !== undefined) throw refused(`${JSON.stringify(odd)} is no name of a Debian package`);
  const own = uv_options === null ? undefined : findOwnOption(uv_options);
  if (own !== undefined) throw refused(`the build sets ${own} itself`);
  const textOf = (path: string) => files.find((file) => file.path === path)?.text ?? "";
  const stale = source === "uv.lock" ? findStaleLock(textOf("uv.lock"), textOf("pyproject.toml")) : undefined;
  if (stale === undefined) return;
  throw appError("environment_refused", {
    detail: `uv.lock is not the lock of this pyproject.toml: ${stale}.`,
    hint: "Lock it again: uv lock",
  });
}

function refused(what: string): AppError {
  return appError("environment_refused", {
    detail: `The environment cannot be built: ${what}.`,
    hint: "Send what the command collects: cli db update",
  });
}
