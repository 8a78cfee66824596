import type { TreeEntry } from "./project-tree.ts";

/** Maximum number of links on one path. Linux counts in the same way and refuses more. */
export const MAX_LINK_STEPS = 40;
/** Maximum number of folders in a tree. A folder also is a file on the disk. */
export const MAX_TREE_FOLDERS = 50_000;

/** A file, a link or a folder of a tree. A folder has no size or chunks; it exists only because it contains entries. */
export interface TreeNode {
  readonly kind: "folder" | "file" | "link";
  readonly parent: TreeNode | null;
  readonly children: Map<string, TreeNode>;
  /** The target of a link, as written. */
  readonly link: string;
}

/** The end of a link after all links on its way were followed. */
export interface LinkEnd {
  readonly node: TreeNode;
  /** Folders below `node` that are not entries of the tree. Unless this is 0, the link is dangling. */
  readonly missing: number;
  /** Number of followed links. */
  readonly steps: number;
}

export interface PlacedEntry {
  readonly entry: TreeEntry;
  readonly node: TreeNode;
}

export interface TreeNodes {
  readonly placed: readonly PlacedEntry[];
  /** The first misplaced entry, with the reason. */
  readonly problem: { readonly path: string; readonly text: string } | undefined;
}

/** Places the entries of a tree in its folders. The paths must be well formed and distinct. The work is linear in
 *  the length of the paths. */
export function placeEntries(entries: readonly TreeEntry[]): TreeNodes {
  const root = makeNode("folder", null, "");
  const placed: PlacedEntry[] = [];
  let folders = 0;
  const stop = (path: string, text: string) => ({ placed, problem: { path, text } });
  // Files and links first, so that a folder with the same name is found in any order of entries.
  const leaves = new Set(entries.map(({ path }) => path));
  for (const entry of entries) {
    const { link, path } = entry;
    let folder = root;
    let end = path.indexOf("/");
    for (let start = 0; end !== -1; start = end + 1, end = path.indexOf("/", start)) {
      const name = path.slice(start, end);
      let next = folder.children.get(name);
      if (next === undefined) {
        if (leaves.has(path.slice(0, end))) return stop(path, "is below a path that is a file or a link");
        folders += 1;
        if (folders > MAX_TREE_FOLDERS)
          return stop(path, `exceeds the number of folders; the maximum is ${MAX_TREE_FOLDERS}`);
        next = makeNode("folder", folder, "");
        folder.children.set(name, next);
      }
      if (next.kind !== "folder") return stop(path, "is below a path that is a file or a link");
      folder = next;
    }
    const name = path.slice(path.lastIndexOf("/") + 1);
    const node = makeNode(link === null ? "file" : "link", folder, link ?? "");
    folder.children.set(name, node);
    placed.push({ entry, node });
  }
  return { placed, problem: undefined };
}

/** Follows links over the entries of one tree, like the file system. Each link is followed once. */
export class LinkFollower {
  readonly #known = new Map<TreeNode, LinkEnd | string>();
  readonly #open = new Set<TreeNode>();

  /** The end of a link, or the problem of a link that leaves the tree at any step or never ends. */
  follow(link: TreeNode): LinkEnd | string {
    const known = this.#known.get(link);
    if (known !== undefined) return known;
    if (this.#open.has(link)) return "is a link in a circle of links";
    if (this.#open.size >= MAX_LINK_STEPS) return tooManySteps();
    this.#open.add(link);
    const end = this.#walk(link);
    this.#open.delete(link);
    this.#known.set(link, end);
    return end;
  }

  #walk({ link, parent }: TreeNode): LinkEnd | string {
    let node = parent;
    let missing = 0;
    let steps = 1;
    for (const part of partsOf(link)) {
      if (part === "" || part === ".") continue;
      if (node === null) return "is a link out of the project";
      if (missing === 0 && node.kind === "file") return "is a link that leads through a file";
      if (part === "..") {
        if (missing > 0) missing -= 1;
        else if (node.parent === null) return "is a link out of the project";
        else node = node.parent;
        continue;
      }
      const next: TreeNode | undefined = missing > 0 ? undefined : node.children.get(part);
      if (next === undefined) missing += 1;
      else if (next.kind !== "link") node = next;
      else {
        const end = this.follow(next);
        if (typeof end === "string") return end;
        steps += end.steps;
        if (steps > MAX_LINK_STEPS) return tooManySteps();
        ({ missing, node } = end);
      }
    }
    return node === null ? "is a link out of the project" : { node, missing, steps };
  }
}

function* partsOf(path: string): Generator<string> {
  let start = 0;
  for (let end = path.indexOf("/"); end !== -1; start = end + 1, end = path.indexOf("/", start)) {
    yield path.slice(start, end);
  }
  yield path.slice(start);
}

function makeNode(kind: TreeNode["kind"], parent: TreeNode | null, link: string): TreeNode {
  return { kind, parent, children: new Map(), link };
}

function tooManySteps(): string {
  return `is a link that passes more than ${MAX_LINK_STEPS} links`;
}
