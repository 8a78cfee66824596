import { lstat, readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { folderUse } from "@appdb/system/files/folder-size";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { DRAFT_PREFIX, FORMER_PREFIX, SHARED_CACHE, SHARED_PATHS } from "./image-folder.ts";

/** What uses images, as whoever runs pods knows it. */
export interface ImageUse {
  /** `<organization id>/<environment hash>` of what a database has, is to have, or had until lately. */
  readonly wanted: ReadonlySet<string>;
  /** When the oldest pod that runs was started, by organization; none for one without pods. */
  readonly oldest_pods: ReadonlyMap<string, Date>;
}

export interface CollectLimits {
  /** An image that nobody wants stays so long after it was built. */
  readonly unused_ms: number;
  /** Longer than any build: a draft of that age belongs to one that was killed. */
  readonly draft_ms: number;
  readonly org_cache_bytes: number;
  readonly shared_cache_bytes: number;
  /** Of any cache: many empty files take no bytes, and places of the disk. */
  readonly cache_files: number;
}

export const COLLECT_LIMITS: CollectLimits = {
  unused_ms: 7 * 86_400_000,
  draft_ms: 2 * 3_600_000,
  org_cache_bytes: 5 * 1024 ** 3,
  shared_cache_bytes: 20 * 1024 ** 3,
  cache_files: 2_000_000,
};

/** A folder below an organization's images. */
export interface ImageEntry {
  readonly org_id: string;
  readonly name: string;
  /** When its folder was last changed: when it was built, or begun. */
  readonly changed_at: Date;
}

/** Which folders may go. Pure: what is not known to be unused stays. */
export function chooseUnused(
  entries: readonly ImageEntry[],
  use: ImageUse,
  limits: CollectLimits,
  now: Date,
): ImageEntry[] {
  return entries.filter(({ changed_at: changedAt, name, org_id: orgId }) => {
    const ageMs = now.getTime() - changedAt.getTime();
    if (name.startsWith(DRAFT_PREFIX)) return ageMs > limits.draft_ms;
    if (name.startsWith(FORMER_PREFIX)) {
      // a pod that was started before the new image took its place may still read it
      const replacedAt = Number(/^(\d+)-/.exec(name.slice(FORMER_PREFIX.length))?.[1] ?? Number.NaN);
      const oldest = use.oldest_pods.get(orgId);
      return oldest === undefined || oldest.getTime() > replacedAt;
    }
    return ageMs > limits.unused_ms && !use.wanted.has(`${orgId}/${name}`);
  });
}

export interface CollectFolders {
  /** `<organization id>/<environment hash>` */
  readonly images: string;
  /** `<organization id>`, and `shared`. */
  readonly caches: string;
}

/** Removes images that nothing uses, what killed builds left, and caches that have grown too large. Returns how many folders went. */
export async function collectImages(
  folders: CollectFolders,
  use: ImageUse,
  limits: CollectLimits,
  now: Date,
): Promise<number> {
  let removed = 0;
  const building = new Set<string>();
  for (const orgId of await foldersIn(folders.images)) {
    const folder = join(folders.images, orgId);
    const entries = await Promise.all(
      (await foldersIn(folder)).map(async (name) => ({
        org_id: orgId,
        name,
        changed_at: (await stat(join(folder, name))).mtime,
      })),
    );
    const unused = new Set(chooseUnused(entries, use, limits, now).map(({ name }) => name));
    for (const name of unused) await removeImage(join(folder, name));
    removed += unused.size;
    if (entries.some(({ name }) => name.startsWith(DRAFT_PREFIX) && !unused.has(name))) building.add(orgId);
  }
  for (const name of await foldersIn(folders.caches)) {
    const isShared = name === SHARED_CACHE;
    if (isShared) removed += await removeLeft(join(folders.caches, name), limits, now);
    // a build reads its caches until it ends
    if (isShared ? building.size > 0 : building.has(name)) continue;
    const mostBytes = isShared ? limits.shared_cache_bytes : limits.org_cache_bytes;
    removed += await trim(join(folders.caches, name), { most_bytes: mostBytes, most_files: limits.cache_files });
  }
  return removed;
}

/** Removes an image: it is gone at once for whoever looks for it, however long its files take. */
export async function removeImage(imageFolder: string): Promise<void> {
  const draft = join(imageFolder, "..", `${DRAFT_PREFIX}removed-${process.pid}-${Date.now()}`);
  try {
    await rename(imageFolder, draft);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  // a build of the organization may still write into a cache
  await removeFolder(draft);
}

/** A cache that is too large goes as a whole: what a build needs of it is fetched again. Images keep their files, which are links. */
async function trim(
  cache: string,
  { most_bytes: mostBytes, most_files: mostFiles }: { readonly most_bytes: number; readonly most_files: number },
): Promise<number> {
  const used = await folderUse([cache], { most_files: mostFiles });
  if (used.bytes <= mostBytes && used.files <= mostFiles) return 0;
  await removeImage(cache);
  return 1;
}

/** Environments in the shared cache that killed builds left. */
async function removeLeft(shared: string, limits: CollectLimits, now: Date): Promise<number> {
  let removed = 0;
  for (const name of (await foldersIn(shared)).filter((one) => one.startsWith(SHARED_PATHS.venv_prefix))) {
    const found = await lstat(join(shared, name));
    if (now.getTime() - found.mtime.getTime() <= limits.draft_ms) continue;
    await removeFolder(join(shared, name));
    removed += 1;
  }
  return removed;
}

async function foldersIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
