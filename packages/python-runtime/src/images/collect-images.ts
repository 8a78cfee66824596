import { lstat, readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { folderUse } from "@appdb/system/files/folder-size";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { DRAFT_PREFIX, FORMER_PREFIX, SHARED_CACHE, SHARED_PATHS } from "./image-folder.ts";

/** Current use of images, reported by the owner of the pods. */
export interface ImageUse {
  /** `<organization id>/<environment hash>` of current, desired and recent images of databases. */
  readonly desired: ReadonlySet<string>;
  /** Start time of the oldest running pod by organization; missing for one without pods. */
  readonly oldest_pods: ReadonlyMap<string, Date>;
}

export interface CollectLimits {
  /** Minimum age of an unused image before it is removed. */
  readonly unused_ms: number;
  /** Exceeds the duration of any build: an older draft belongs to a killed one. */
  readonly draft_ms: number;
  readonly org_cache_bytes: number;
  readonly shared_cache_bytes: number;
  /** Maximum number of files in a cache: empty files take no bytes but use inodes. */
  readonly cache_files: number;
}

export const COLLECT_LIMITS: CollectLimits = {
  unused_ms: 7 * 86_400_000,
  draft_ms: 2 * 3_600_000,
  org_cache_bytes: 5 * 1024 ** 3,
  shared_cache_bytes: 20 * 1024 ** 3,
  cache_files: 2_000_000,
};

/** A folder of an organization's images. */
export interface ImageEntry {
  readonly org_id: string;
  readonly name: string;
  /** Last change of the folder: when the image was built, or its build began. */
  readonly changed_at: Date;
}

/** Chooses folders to remove. Pure; keeps everything that is not known to be unused. */
export function selectUnused(
  entries: readonly ImageEntry[],
  use: ImageUse,
  limits: CollectLimits,
  now: Date,
): ImageEntry[] {
  return entries.filter(({ changed_at: changedAt, name, org_id: orgId }) => {
    const ageMs = now.getTime() - changedAt.getTime();
    if (name.startsWith(DRAFT_PREFIX)) return ageMs > limits.draft_ms;
    if (name.startsWith(FORMER_PREFIX)) {
      // a pod started before the replacement may still read the previous image
      const replacedAt = Number(/^(\d+)-/.exec(name.slice(FORMER_PREFIX.length))?.[1] ?? Number.NaN);
      const oldest = use.oldest_pods.get(orgId);
      return oldest === undefined || oldest.getTime() > replacedAt;
    }
    return ageMs > limits.unused_ms && !use.desired.has(`${orgId}/${name}`);
  });
}

export interface CollectFolders {
  /** `<organization id>/<environment hash>` */
  readonly images: string;
  /** `<organization id>`, or `shared`. */
  readonly caches: string;
}

/** Removes unused images, leftovers of killed builds and oversized caches. Returns the number of removed folders. */
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
    const unused = new Set(selectUnused(entries, use, limits, now).map(({ name }) => name));
    for (const name of unused) await removeImage(join(folder, name));
    removed += unused.size;
    if (entries.some(({ name }) => name.startsWith(DRAFT_PREFIX) && !unused.has(name))) building.add(orgId);
  }
  for (const name of await foldersIn(folders.caches)) {
    const isShared = name === SHARED_CACHE;
    if (isShared) removed += await removeLeftovers(join(folders.caches, name), limits, now);
    // a build reads its caches until it ends
    if (isShared ? building.size > 0 : building.has(name)) continue;
    const maxBytes = isShared ? limits.shared_cache_bytes : limits.org_cache_bytes;
    removed += await trim(join(folders.caches, name), { max_bytes: maxBytes, max_files: limits.cache_files });
  }
  return removed;
}

/** Removes an image. Readers stop finding it immediately, even while its files are still being deleted. */
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

/**
 * Removes an oversized cache completely; later builds download what they need. Images keep their files, which are hard
 * links.
 */
async function trim(
  cache: string,
  { max_bytes: maxBytes, max_files: maxFiles }: { readonly max_bytes: number; readonly max_files: number },
): Promise<number> {
  const used = await folderUse([cache], { max_files: maxFiles });
  if (used.bytes <= maxBytes && used.files <= maxFiles) return 0;
  await removeImage(cache);
  return 1;
}

/** Removes environments of killed builds from the shared cache. */
async function removeLeftovers(shared: string, limits: CollectLimits, now: Date): Promise<number> {
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
