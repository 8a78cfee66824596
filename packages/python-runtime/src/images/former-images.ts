import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { BuiltImage } from "@appdb/contract/control/image-documents";
import { DRAFT_PREFIX, findSitePackages, readImage } from "./image-folder.ts";

/** Maximum number of images of the organization, and of others. The newest have most in common with the next build. */
const MAX_OWN = 3;
const MAX_SHARED = 8;

/** Finds images whose compiled code a new image can reuse. */
export interface FormerImages {
  /**
   * Package folders, the organization's newest first. An image installed from the shared cache gets only such images,
   * including those of others: no package code ran there, so everyone gets identical compiled code.
   */
  find(imageFolder: string, python: string, isShared: boolean): string[];
  /** Records an image that was built. */
  add(imageFolder: string, image: BuiltImage): void;
}

interface Found {
  readonly folder: string;
  readonly image: BuiltImage;
}

export function createFormerImages(): FormerImages {
  /** Newest images of all organizations. Read once because there may be thousands. */
  let shared: Found[] | undefined;

  return {
    find(imageFolder, python, isShared) {
      const orgFolder = dirname(imageFolder);
      shared ??= latest(namesIn(dirname(orgFolder)).flatMap((org) => imagesIn(join(dirname(orgFolder), org)))).filter(
        ({ image }) => image.is_shared,
      );
      const alike = (found: Found) => isMinor(python)(found) && (!isShared || found.image.is_shared);
      const own = latest(imagesIn(orgFolder).filter(alike)).slice(0, MAX_OWN);
      const others = isShared ? shared.filter(isMinor(python)).slice(0, MAX_SHARED) : [];
      const folders = new Map([...own, ...others].map(({ folder, image }) => [folder, image.python]));
      return [...folders].flatMap(([folder, version]) => findSitePackages(folder, version) ?? []);
    },
    add(folder, image) {
      if (!image.is_shared) return;
      const others = (shared ?? []).filter((other) => other.folder !== folder);
      if (shared !== undefined) shared = [{ folder, image }, ...others].slice(0, MAX_SHARED * MAX_SHARED);
    },
  };
}

function isMinor(python: string): (found: Found) => boolean {
  const minor = python.split(".", 2).join(".");
  return ({ image }) => image.python.startsWith(`${minor}.`);
}

function latest(found: readonly Found[]): Found[] {
  return [...found].sort((a, b) => (a.image.built_at < b.image.built_at ? 1 : -1));
}

function imagesIn(orgFolder: string): Found[] {
  return namesIn(orgFolder).flatMap((name) => {
    if (name.startsWith(DRAFT_PREFIX)) return [];
    const folder = join(orgFolder, name);
    const image = readImage(folder);
    return image === undefined ? [] : [{ folder, image }];
  });
}

function namesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}
