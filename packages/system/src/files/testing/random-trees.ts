import type { TreeEntry } from "@appdb/contract/control/project-tree";
import type { Random } from "@appdb/engine/expressions/testing/random";

/** Few names, so that links often point to entries and entries collide. */
export const NAMES = ["a", "b", "c", "d"] as const;
const MAX_DEPTH = 6;

/**
 * Random trees of files and links: chains, cycles, aliases, `..` in every position. Most contain a link that leaves the
 * tree.
 */
export function randomTree(random: Random): TreeEntry[] {
  const entries = new Map<string, TreeEntry>();
  for (let left = random.int(1, 8); left > 0; left--) {
    const path = randomPath(random, random.int(1, 4));
    entries.set(
      path,
      random.next() < 0.5 ? fileOf(path) : linkOf(path, randomTarget(random, path, [...entries.keys()])),
    );
  }
  return [...entries.values()].filter(({ path }) => ![...entries.keys()].some((other) => path.startsWith(`${other}/`)));
}

/** A path of random names. */
export function randomPath(random: Random, depth: number): string {
  return Array.from({ length: depth }, () => random.pick(NAMES)).join("/");
}

/** A target that looks inside by its text in three of four cases. */
function randomTarget(random: Random, path: string, others: readonly string[]): string {
  const parts: string[] = [];
  let depth = path.split("/").length - 1;
  const isInside = random.next() < 0.75;
  if (others.length > 0 && random.next() < 0.6) {
    // through an existing entry of the tree, from its root
    parts.push(...Array.from({ length: depth }, () => ".."), ...random.pick(others).split("/"));
    depth = parts.length - 2 * depth;
  }
  for (let left = random.int(0, MAX_DEPTH); left > 0 || parts.length === 0; left--) {
    const up = random.next() < 0.5 && (depth > 0 || !isInside);
    parts.push(up ? ".." : random.pick([...NAMES, "."]));
    if (parts.at(-1) !== ".") depth += up ? -1 : 1;
  }
  return parts.join("/");
}

export function fileOf(path: string): TreeEntry {
  return { path, size: 0, is_executable: false, chunks: [], link: null };
}

export function linkOf(path: string, link: string): TreeEntry {
  return { path, size: 0, is_executable: false, chunks: [], link };
}
