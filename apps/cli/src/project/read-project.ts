import { readFileSync, realpathSync } from "node:fs";
import { join, posix, sep } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { collectEnvironment } from "@appdb/python-runtime/environments/collect-environment";
import { localPath, readRequirementLines } from "@appdb/python-runtime/environments/requirement-lines";
import type { Context } from "../context.ts";
import { findProject, type Project } from "./find-project.ts";
import { type HostedEntry, readHostedEntries } from "./hosted-entries.ts";
import { type ProjectTree, readProjectTree } from "./read-tree.ts";
import { selectFiles } from "./select-files.ts";
import { createSelector } from "./selection.ts";

export interface ReadProject {
  readonly project: Project;
  /** Undefined when the project has no entry for the database. */
  readonly entry: HostedEntry | undefined;
  readonly tree: ProjectTree;
}

/**
 * Reads the project files that the entry of a hosted database selects.
 * @throws no_project, config_invalid, tree_invalid, files_changed, interrupted
 */
export async function readProject(
  ctx: { readonly config: Pick<Context["config"], "home">; readonly signal: AbortSignal },
  folder: string,
  uri: string,
): Promise<ReadProject> {
  const project = findProject(folder);
  if (project === undefined) {
    throw appError("no_project", {
      detail: `No project found in ${folder} or above it: expected service.toml, or [tool.service] in pyproject.toml.`,
      hint: "Make this folder a project: cli init",
    });
  }
  const { root } = project;
  const entry = readHostedEntries(project).find((each) => each.uri === uri);
  const selected = selectFiles(root, createSelector(entry?.settings ?? {}), namedByRequirements(root));
  return { project, entry, tree: await readProjectTree({ home: ctx.config.home, signal: ctx.signal }, root, selected) };
}

/** Collects the inputs of the database's image. @throws environment_refused, config_invalid */
export async function readEnvironment({ entry, project, tree }: ReadProject): Promise<EnvironmentDocument> {
  return await collectEnvironment({
    entries: tree.entries,
    readText: async (path) => readProjectFile(project.root, path),
    python_version: entry?.settings.python_version,
    system_packages: entry?.settings.system_packages,
    uv_options: entry?.settings.uv_options,
  });
}

/** Files that a requirements.txt includes, directly or indirectly. They are always uploaded. */
function namedByRequirements(root: string): string[] {
  const named = new Set<string>();
  const follow = (path: string) => {
    for (const { kind, value } of readRequirementLines(readProjectFile(root, path) ?? "")) {
      // pip resolves packages relative to its working folder, and requirements files relative to the including file
      const required = kind === "requirement" ? localPath(value) : undefined;
      const file = kind === "file" && value !== "" ? posix.join(posix.dirname(path), value) : required;
      const at = file && posix.normalize(file);
      if (!at || at.startsWith("..") || at.startsWith("/") || named.has(at)) continue;
      named.add(at);
      if (kind === "file") follow(at);
    }
  };
  follow("requirements.txt");
  return [...named];
}

/** Text of a project file. Undefined when it does not exist or is a link out of the project. */
function readProjectFile(root: string, path: string): string | undefined {
  try {
    const real = realpathSync(join(root, path));
    return real.startsWith(root + sep) ? readFileSync(real, "utf8") : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR") return undefined;
    throw error;
  }
}
