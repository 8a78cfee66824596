import { isAbsolute, posix, relative, sep } from "node:path";

export interface ResolvedLink {
  /** As it travels: from its own folder. */
  readonly link: string;
  /** From the project's root; empty for the root itself. */
  readonly leads_to: string;
  /** The same, when every link on the way is followed. */
  readonly ends_at: string;
}

/**
 * Where a symbolic link of a project leads; a reason where it must not travel. A link that is written as an absolute path, or by a
 * way around outside, and yet leads into the project, becomes one that does so anywhere. `findReal` says where it leads in the end.
 */
export function placeLink(
  path: string,
  written: string,
  root: string,
  findReal: () => string | undefined,
): ResolvedLink | { readonly reason: string } {
  const real = findReal();
  if (real === undefined) return { reason: `is a link to ${shown(written)}, where nothing is` };
  const inside = fromRoot(root, real);
  if (inside === undefined) return { reason: `is a link out of the project, to ${shown(written)}` };
  const folder = posix.dirname(path) === "." ? "" : posix.dirname(path);
  const text = sep === "/" ? written : written.replaceAll("\\", "/");
  const direct = isAbsolute(written) ? undefined : posix.normalize(posix.join(folder, text));
  const isDirect = direct !== undefined && direct !== ".." && !direct.startsWith("../") && !passesOutside(folder, text);
  if (isDirect) return { link: text, leads_to: direct === "." ? "" : direct.replace(/\/$/, ""), ends_at: inside };
  return { link: posix.relative(folder, inside) || ".", leads_to: inside, ends_at: inside };
}

/** A path below the root, with `/`; undefined for one that is not. */
function fromRoot(root: string, real: string): string | undefined {
  const path = relative(root, real).split(sep).join("/");
  return path === ".." || path.startsWith("../") || isAbsolute(path) ? undefined : path;
}

/** Whether a relative path leaves the project on its way, though it may come back. */
function passesOutside(folder: string, text: string): boolean {
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
