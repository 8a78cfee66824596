import { lstatSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { type BuiltImage, builtImageSchema, type ImagePackage } from "@appdb/contract/control/image-documents";
import { appError } from "@appdb/contract/errors";
import { syncFiles } from "@appdb/system/files/sync-files";

/** Prefix of folders that are being built, and of replaced images. */
export const DRAFT_PREFIX = "draft-";
export const FORMER_PREFIX = "former-";
/** Folder next to the organizations' caches with packages that all of them share. */
export const SHARED_CACHE = "shared";
/** Parts of the shared folder: uv's cache, and environments that are being made. */
export const SHARED_PATHS = { cache: "uv", venv_prefix: "venv-" } as const;
/** Parts of an image. The description is where no build can write. */
export const IMAGE_PATHS = { venv: "venv", system: "system", description: "image.json" } as const;

/** Reads the description of an image. Undefined when the image is missing or incomplete. */
export function readImage(imageFolder: string): BuiltImage | undefined {
  const text = readDescription(imageFolder);
  if (text === undefined) return undefined;
  try {
    return builtImageSchema.safeParse(JSON.parse(text)).data;
  } catch {
    // a description cut off by a power cut means an incomplete image
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

/** Marks a draft as complete. Once this resolves, the draft survives a power cut. */
export async function writeImage(draft: string, image: BuiltImage): Promise<void> {
  const description = join(draft, IMAGE_PATHS.description);
  // creates a new file: follows no link and overwrites nothing of the build
  writeFileSync(description, `${JSON.stringify(image)}\n`, { mode: 0o600, flag: "wx" });
  await syncFiles(draft, [description]);
}

/**
 * Package folder of an environment. Undefined when a build replaced it by something else, because such contents are not
 * trusted.
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

/** Maximum number of packages of an image. The control plane's database stores their list. */
export const MAX_PACKAGES = 5_000;

/**
 * Lists the packages of an environment by folder names, at most 5,000. Reads no package file. Reads names in small
 * batches because a build may have created a million.
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

/** Whether a path is a folder and not a link to one. */
export function isRealFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
