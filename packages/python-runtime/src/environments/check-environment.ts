import {
  findLinkOnWay,
  findPathProblem,
  linksOf,
  listTreePart,
  type TreeEntry,
} from "@appdb/contract/control/project-tree";
import { type AppError, appError } from "@appdb/contract/errors";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { PYTHON_VERSION, SYSTEM_PACKAGE } from "@appdb/contract/service-toml";
import { findExcess, findStaleLock, MAX_DEPENDENCIES, MAX_REQUIREMENT_LENGTH } from "./check-lock.ts";
import { readRequirementLines } from "./requirement-lines.ts";
import { findOwnOption } from "./uv-options.ts";

/**
 * Checks a document from outside. Every path must lie in the project, every name must be valid, the files of its source
 * must be present, and the lock must match pyproject.toml. The build, which runs within limits, finds other errors in
 * the texts.
 * @throws environment_refused
 */
export function checkEnvironment(document: EnvironmentDocument): void {
  const {
    files,
    python_version: pythonVersion,
    source,
    system_packages: systemPackages,
    uv_options: uvOptions,
  } = document;
  const paths = new Set(files.map(({ path }) => path));
  if (paths.size !== files.length) throw refused("a file is in it twice");
  for (const path of paths) {
    const problem = findPathProblem(path.replace(/\/$/, ""));
    if (problem !== undefined) throw refused(`${JSON.stringify(path.slice(0, 100))} ${problem}`);
  }
  const needed = source === "uv.lock" ? [source, "pyproject.toml"] : [source];
  const missing = needed.find((path) => path !== null && !paths.has(path));
  if (missing !== undefined) throw refused(`it has no ${missing}`);
  if (source === null && files.length > 0) throw refused("it has files, and no source that reads them");
  if (pythonVersion !== null && !PYTHON_VERSION.test(pythonVersion))
    throw refused(`${JSON.stringify(pythonVersion)} is not a version of Python`);
  const odd = systemPackages.find((name) => !SYSTEM_PACKAGE.test(name));
  if (odd !== undefined) throw refused(`${JSON.stringify(odd)} is not the name of a Debian package`);
  const own = uvOptions === null ? undefined : findOwnOption(uvOptions);
  if (own !== undefined) throw refused(`the build sets ${own} itself`);
  const textOf = (path: string) => files.find((file) => file.path === path)?.text ?? "";
  const excess = source === "uv.lock" ? findExcess(textOf("pyproject.toml")) : findExcessLine(files);
  if (excess !== undefined) throw refused(excess);
  const stale = source === "uv.lock" ? findStaleLock(textOf("uv.lock"), textOf("pyproject.toml")) : undefined;
  if (stale === undefined) return;
  throw appError("environment_refused", {
    detail: `uv.lock is not the lock of this pyproject.toml: ${stale}.`,
    hint: "Lock it again: uv lock",
  });
}

/** Checks the limits of requirements files. Undefined when all files are within them. */
function findExcessLine(files: EnvironmentDocument["files"]): string | undefined {
  let count = 0;
  for (const { path, text } of files) {
    if (path.endsWith("/") || path.endsWith(".toml")) continue;
    for (const { line, text: requirement } of readRequirementLines(text)) {
      count += 1;
      // hashes follow a requirement; a package with many wheels has many
      const { length } = requirement.split(" --hash", 1)[0] ?? "";
      if (length <= MAX_REQUIREMENT_LENGTH && count <= MAX_DEPENDENCIES) continue;
      if (count > MAX_DEPENDENCIES) return `its requirements have more than ${MAX_DEPENDENCIES} lines`;
      return `${path}:${line} has ${length} characters; the maximum is ${MAX_REQUIREMENT_LENGTH}`;
    }
  }
  return undefined;
}

/**
 * Compares a document with the project files that came with it. Each part that is built into the image must be in the
 * tree, reachable without a link, and listed as the tree lists it. The listing is part of the image's hash, so an image
 * cannot be built from other files.
 * @throws environment_refused
 */
export function checkEnvironmentParts({ files }: EnvironmentDocument, entries: readonly TreeEntry[] | null): void {
  const links = linksOf(entries ?? []);
  for (const { path, text } of files) {
    if (!path.endsWith("/")) continue;
    const part = path.slice(0, -1);
    const shown = JSON.stringify(part.slice(0, 100));
    const link = findLinkOnWay(links, part);
    if (link !== undefined)
      throw refused(`it takes ${shown} from the project, where ${JSON.stringify(link)} is a link`);
    // a listing that grows longer than the received text cannot match it
    const listing = listTreePart(entries ?? [], part, text.length);
    if (listing !== text) throw refused(`its list of ${shown} is not that of the project's files`);
  }
}

function refused(what: string): AppError {
  return appError("environment_refused", {
    detail: `The environment cannot be built: ${what}.`,
    hint: "Send the environment that the command collects: cli db update",
  });
}
