import { lstatSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { type BuiltImage, builtImageSchema, type ImagePackage } from "@appdb/contract/control/image-documents";
import { appError } from "@appdb/contract/errors";
import { syncFiles } from "@appdb/system/files/sync-files";

/** Of folders that are being built, and of images that another build took the place of. */
export const DRAFT_PREFIX = "draft-";
export const FORMER_PREFIX = "former-";
/** Beside the caches of organizations: what was fetched for all of them. */
export const SHARED_CACHE = "shared";
/** What lies in it: uv's cache, and environments that are being made. */
export const SHARED_PATHS = { cache: "uv", venv_prefix: "venv-" } as const;
/** Parts of an image. The description lies where no build can write. */
export const IMAGE_PATHS = { venv: "venv", system: "system", description: "image.json" } as const;

/** What an image is; undefined when there is none, or none that is whole. */
export function readImage(imageFolder: string): BuiltImage | undefined {
  const text = readDescription(imageFolder);
  if (text === undefined) return undefined;
  try {
    return builtImageSchema.safeParse(JSON.parse(text)).data;
  } catch {
    // a description that a power cut left in part is of no whole image
    return undefined;
  }
}

function readDescription(imageFolder: string): string | undefined {
  try {
    return readFileSync(join(imageFolder, IMAGE_PATHS.description), "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

/** Says of a draft that it is whole: once this resolves a power cut leaves it so. */
export async function writeImage(draft: string, image: BuiltImage): Promise<void> {
  const description = join(draft, IMAGE_PATHS.description);
  // a new file: never through a link, and never over what a build left
  writeFileSync(description, `${JSON.stringify(image)}\n`, { mode: 0o600, flag: "wx" });
  await syncFiles(draft, [description]);
}

/**
 * The folder of an environment's packages; undefined when a build has put something else in its place: what it wrote is not trusted to be
 * what it was.
 */
export function findSitePackages(imageFolder: string, python: string): string | undefined {
  const minor = python.split(".", 2).join(".");
  const folder = join(imageFolder, IMAGE_PATHS.venv, "lib", `python${minor}`, "site-packages");
  try {
    return realpathSync(folder) ===
      join(realpathSync(imageFolder), IMAGE_PATHS.venv, "lib", `python${minor}`, "site-packages")
      ? folder
      : undefined;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

/** Packages that an image may have: their list is kept in the control plane's database. */
export const MAX_PACKAGES = 5_000;

/**
 * The packages of an environment by the names of their folders, at most 5,000; no file of theirs is read. A build may have made a million names, so
 * they are read a few at a time.
 * @throws build_failed
 */
export async function listPackages(sitePackages: string): Promise<ImagePackage[]> {
  const packages: ImagePackage[] = [];
  for await (const { name } of await opendir(sitePackages, { bufferSize: 256 })) {
    const [, project, version] = /^([\w.-]+?)-([\w.+!]+)\.dist-info$/.exec(name) ?? [];
    if (project === undefined || version === undefined) continue;
    if (packages.length >= MAX_PACKAGES) throw tooManyPackages();
    packages.push({ name: project.replace(/[-_.]+/g, "-").toLowerCase(), version });
  }
  return packages.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function tooManyPackages(): Error {
  return appError("build_failed", {
    detail: `The environment has more than ${MAX_PACKAGES} packages, the maximum.`,
    hint: "Install fewer packages.",
  });
}

/** Whether a path is a folder itself, and no link to one. */
export function isRealFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
