import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { type IgnoreRules, noRules, patternLines } from "./ignore-rules.ts";

/** Ignore patterns of git from outside the project's folder. */
export interface GitPatterns {
  readonly rules: IgnoreRules;
  /** Path from the repository's root to the project's, ending in `/`. Empty where both are equal. */
  readonly prefix: string;
}

/**
 * Patterns of `.git/info/exclude` and of .gitignore files from the repository's root down to above the project's root.
 * They do not count when they ignore the project's root, which then does not belong to that repository. The .gitignore
 * of the root and those below are read elsewhere.
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

/** Lines of a pattern file; empty when it is missing or unreadable. Like git, follows no link. */
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

/** Git folder shared by all worktrees. In worktrees and submodules, `.git` is a file that names it. */
function findGitFolder(repository: string): string {
  const path = join(repository, ".git");
  if (statSync(path).isDirectory()) return path;
  const named = /^gitdir: (.+)$/m.exec(readPatterns(path).join("\n"))?.[1];
  if (named === undefined) return path;
  const folder = resolve(repository, named.trim());
  const [common] = readPatterns(join(folder, "commondir"));
  return common === undefined || common.trim() === "" ? folder : resolve(folder, common.trim());
}
