import { isAbsolute, posix, relative, sep } from "node:path";

export interface ResolvedLink {
  /** As uploaded: relative to its own folder. */
  readonly link: string;
  /** Target relative to the project's root; empty for the root itself. */
  readonly leads_to: string;
  /** The same after following every link on the way. */
  readonly ends_at: string;
}

/**
 * Resolves a symbolic link of a project, or returns the reason why it cannot be uploaded. A link that leads into the
 * project by an absolute path or through outside folders is rewritten as a relative one. `findReal` returns the final
 * target.
 */
export function placeLink(
  path: string,
  written: string,
  root: string,
  findReal: () => string | undefined,
): ResolvedLink | { readonly reason: string } {
  const real = findReal();
  if (real === undefined) return { reason: `is a link to ${shown(written)}, which does not exist` };
  const inside = fromRoot(root, real);
  if (inside === undefined) return { reason: `is a link out of the project, to ${shown(written)}` };
  const folder = posix.dirname(path) === "." ? "" : posix.dirname(path);
  const text = sep === "/" ? written : written.replaceAll("\\", "/");
  const direct = isAbsolute(written) ? undefined : posix.normalize(posix.join(folder, text));
  const isDirect = direct !== undefined && direct !== ".." && !direct.startsWith("../") && !leavesFolder(folder, text);
  if (isDirect) return { link: text, leads_to: direct === "." ? "" : direct.replace(/\/$/, ""), ends_at: inside };
  return { link: posix.relative(folder, inside) || ".", leads_to: inside, ends_at: inside };
}

/** A path below the root, separated by `/`. Undefined for other paths. */
function fromRoot(root: string, real: string): string | undefined {
  const path = relative(root, real).split(sep).join("/");
  return path === ".." || path.startsWith("../") || isAbsolute(path) ? undefined : path;
}

/** Whether a relative path leaves the project on the way, even if it returns. */
function leavesFolder(folder: string, text: string): boolean {
  let depth = folder === "" ? 0 : folder.split("/").length;
  for (const part of text.split("/")) {
    if (part === "..") depth -= 1;
    else if (part !== "." && part !== "") depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

function shown(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
