import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { BuiltImage } from "@appdb/contract/control/image-documents";
import { DRAFT_PREFIX, findSitePackages, readImage } from "./image-folder.ts";

/** Of an organization, and of all others: the latest have most in common with what is built next. */
const MAX_OWN = 3;
const MAX_SHARED = 8;

/** Where images lie from which a new one takes compiled code. */
export interface FormerImages {
  /**
   * Their packages, the organization's latest first. One whose packages came from the shared cache gets those of such images alone, others'
   * among them: no package's code ran there, so what was compiled is what anybody would have got.
   */
  find(imageFolder: string, python: string, isShared: boolean): string[];
  /** Remembers an image that was built. */
  add(imageFolder: string, image: BuiltImage): void;
}

interface Found {
  readonly folder: string;
  readonly image: BuiltImage;
}

export function createFormerImages(): FormerImages {
  /** The latest of all organizations; read once, for there may be thousands. */
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
