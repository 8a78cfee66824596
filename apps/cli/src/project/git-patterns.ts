import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { type IgnoreRules, noRules, patternLines } from "./ignore-rules.ts";

/** What git ignores in a project before anything in it is read. */
export interface GitPatterns {
  readonly rules: IgnoreRules;
  /** From the repository's root to the project's, with a `/` behind it; empty where they are one. */
  readonly prefix: string;
}

/**
 * Patterns of `.git/info/exclude` and of the .gitignore files above the project's root, up to the repository's. They do not
 * count where they ignore the project's root as a whole: then it is no part of that repository. The .gitignore of the root itself
 * and those below it are not read here.
 */
export function readGitPatterns(root: string): GitPatterns {
  const repository = findRepository(root);
  if (repository === undefined) return { rules: noRules(), prefix: "" };
  const prefix = relative(repository, root).split(sep).join("/");
  const folders = prefix === "" ? [] : prefix.split("/").map((_, depth, parts) => parts.slice(0, depth).join("/"));
  let rules = noRules().with("", readPatterns(join(findGitFolder(repository), "info", "exclude")));
  for (const folder of folders) rules = rules.with(folder, readPatterns(join(repository, folder, ".gitignore")));
  if (prefix === "") return { rules, prefix };
  return rules.match(`${prefix}/`) ? { rules: noRules(), prefix: "" } : { rules, prefix: `${prefix}/` };
}

/** The lines of a file of patterns; none where there is no such file, or one that cannot be read. Like git, no link is followed. */
export function readPatterns(path: string): string[] {
  try {
    return patternLines(readFileSync(path, "utf8"));
  } catch {
    return [];
  }
}

function findRepository(root: string): string | undefined {
  for (let folder = root; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

/** Where git keeps what is common to all worktrees: `.git` is a file in worktrees and submodules, and says where. */
function findGitFolder(repository: string): string {
  const path = join(repository, ".git");
  if (statSync(path).isDirectory()) return path;
  const named = /^gitdir: (.+)$/m.exec(readPatterns(path).join("\n"))?.[1];
  if (named === undefined) return path;
  const folder = resolve(repository, named.trim());
  const [common] = readPatterns(join(folder, "commondir"));
  return common === undefined || common.trim() === "" ? folder : resolve(folder, common.trim());
}
