import { type Dirent, lstatSync, readdirSync, readlinkSync, realpathSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { MAX_TREE_FILES } from "@appdb/contract/control/project-tree";
import { type AppError, appError } from "@appdb/contract/errors";
import { readGitPatterns, readPatterns } from "./git-patterns.ts";
import type { IgnoreRules } from "./ignore-rules.ts";
import { placeLink, type ResolvedLink } from "./resolve-link.ts";
import { ENVIRONMENT_FILES, type Selector } from "./selection.ts";

/** A file to upload, as it was when it was found. */
export interface SelectedFile {
  /** From the project's root, separated by `/`. */
  readonly path: string;
  readonly absolute: string;
  readonly stats: Stats;
}

export interface SelectedLink {
  readonly path: string;
  /** Link target relative to its own folder. */
  readonly link: string;
}

/** An entry that cannot be uploaded although no rule excludes it. */
export interface LeftOut {
  readonly path: string;
  /** Ends the sentence "PATH is excluded: it ...". */
  readonly reason: string;
}

export interface SelectedFiles {
  readonly files: readonly SelectedFile[];
  readonly links: readonly SelectedLink[];
  readonly left_out: readonly LeftOut[];
}

export const SECRET_REASON = "may contain a secret";

/**
 * Finds the files of a project to upload: files that git would not ignore, adjusted by `selector`. Links stay links
 * when their target is uploaded; entries that cannot be uploaded are listed in `left_out`. `named` files are always
 * uploaded.
 * @throws tree_invalid for more files than a project may have
 */
export function selectFiles(root: string, selector: Selector, named: readonly string[] = []): SelectedFiles {
  const git = readGitPatterns(root);
  const found: Found = { files: new Map(), links: new Map(), left_out: [] };
  const walk = { root, selector, prefix: git.prefix, found, named: new Set([...ENVIRONMENT_FILES, ...named]) };
  walkFolder(walk, "", readdirSync(root, { withFileTypes: true }), git.rules);
  for (const path of walk.named) if (!found.files.has(path) && !found.links.has(path)) takeFile(walk, path);
  dropLinksToNothing(found);
  return { files: [...found.files.values()], links: [...found.links.values()], left_out: found.left_out };
}

interface Found {
  readonly files: Map<string, SelectedFile>;
  readonly links: Map<string, SelectedLink & ResolvedLink>;
  readonly left_out: LeftOut[];
}

interface Walk {
  readonly root: string;
  readonly selector: Selector;
  readonly prefix: string;
  /** Always uploaded, as regular files. */
  readonly named: ReadonlySet<string>;
  readonly found: Found;
}

function walkFolder(walk: Walk, folder: string, entries: readonly Dirent[], outer: IgnoreRules): void {
  const { found, prefix, root, selector } = walk;
  const hasPatterns = entries.some((entry) => entry.name === ".gitignore" && entry.isFile());
  const rules = hasPatterns
    ? outer.with((prefix + folder).replace(/\/$/, ""), readPatterns(join(root, folder, ".gitignore")))
    : outer;
  for (const entry of entries) {
    const path = folder + entry.name;
    const problem = findNameProblem(root, path, entry.name);
    if (problem !== undefined) {
      found.left_out.push({ path, reason: problem });
    } else if (entry.isDirectory()) {
      const ignored = rules.match(`${prefix}${path}/`);
      // most ignored folders need not even be listed
      if (ignored && !selector.enters(path, ignored, [])) continue;
      const inner = listFolder(walk, path);
      const names = inner?.map(({ name }) => name) ?? [];
      if (inner !== undefined && selector.enters(path, ignored, names)) walkFolder(walk, `${path}/`, inner, rules);
    } else {
      const verdict = selector.judge(path, rules.match(prefix + path));
      if (verdict === "secret") found.left_out.push({ path, reason: SECRET_REASON });
      else if (verdict === "take") takeFile(walk, path);
    }
  }
}

function listFolder({ found, root }: Walk, path: string): Dirent[] | undefined {
  try {
    return readdirSync(join(root, path), { withFileTypes: true });
  } catch (error) {
    // a folder removed meanwhile does not count
    if (!isMissing(error)) found.left_out.push({ path: `${path}/`, reason: "cannot be read" });
    return undefined;
  }
}

function takeFile({ found, named, root }: Walk, path: string): void {
  const absolute = join(root, path);
  let stats: Stats;
  try {
    stats = lstatSync(absolute);
    if (stats.isSymbolicLink() && !named.has(path)) {
      takeLink(found, root, path);
      return;
    }
    // inputs of the image are read through links, and pyproject.toml is rewritten anyway
    if (stats.isSymbolicLink()) stats = statSync(absolute);
  } catch (error) {
    if (!isMissing(error)) found.left_out.push({ path, reason: "cannot be read" });
    return;
  }
  if (stats.isFile()) found.files.set(path, { path, absolute, stats });
  else if (!stats.isDirectory()) found.left_out.push({ path, reason: "is a socket, a pipe or a device" });
  if (found.files.size + found.links.size > MAX_TREE_FILES) throw tooMany(found);
}

function takeLink(found: Found, root: string, path: string): void {
  const place = placeLink(path, readlinkSync(join(root, path)), root, () => realOf(join(root, path)));
  if ("reason" in place) found.left_out.push({ path, reason: place.reason });
  else found.links.set(path, { path, ...place });
  if (found.files.size + found.links.size > MAX_TREE_FILES) throw tooMany(found);
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    // a broken or circular link
    return undefined;
  }
}

/** Drops links whose targets are not uploaded. A link may lead to another link. */
function dropLinksToNothing({ files, left_out: excluded, links }: Found): void {
  const folders = new Set([""]);
  for (const path of files.keys()) for (const folder of foldersOf(path)) folders.add(folder);
  const isReached = ({ ends_at: endsAt, leads_to: leadsTo }: ResolvedLink) => {
    if (!files.has(endsAt) && !folders.has(endsAt)) return false;
    return leadsTo === endsAt || [leadsTo, ...foldersOf(leadsTo)].some((path) => links.has(path));
  };
  for (;;) {
    const lost = [...links.values()].filter((link) => !isReached(link));
    if (lost.length === 0) return;
    for (const { leads_to: leadsTo, path } of lost) {
      links.delete(path);
      excluded.push({ path, reason: `is a link to ${leadsTo}, which is not among the project's files` });
    }
  }
}

function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, depth) => parts.slice(0, depth + 1).join("/"));
}

function findNameProblem(root: string, path: string, name: string): string | undefined {
  // a name that is not UTF-8 is read with this replacement character, so no file has that name
  if (name.includes("\uFFFD") && !existsInProject(join(root, path))) return "has a name that is not UTF-8";
  if (/\p{Cc}/u.test(name)) return "has control characters in its name";
  if (name.includes("\\")) return "has a backslash in its name";
  return undefined;
}

function existsInProject(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}

function tooMany({ files }: Found): AppError {
  const counts = new Map<string, number>();
  for (const path of files.keys()) {
    const top = path.includes("/") ? path.slice(0, path.indexOf("/") + 1) : "the root itself";
    counts.set(top, (counts.get(top) ?? 0) + 1);
  }
  const largest = [...counts].sort((one, other) => other[1] - one[1]).slice(0, 3);
  return appError("tree_invalid", {
    detail: `The project has more than ${MAX_TREE_FILES} files, the maximum. The largest parts of those found: ${largest
      .map(([top, number]) => `${top} (${number})`)
      .join(", ")}.`,
    hint: "Exclude what the application does not need: exclude = [...] in the database's entry of service.toml, or a .gitignore",
    meta: { most: MAX_TREE_FILES },
  });
}
