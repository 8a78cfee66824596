import { existsSync, mkdirSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { BuiltImage, SystemPart } from "@appdb/contract/control/image-documents";
import { type AppError, appError } from "@appdb/contract/errors";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { folderUse } from "@appdb/system/files/folder-size";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { syncPath } from "@appdb/system/files/sync-files";
import { lazyCrypto } from "@appdb/system/processes/lazy-crypto";
import type { SharedIndex } from "../documents/lock-sources.ts";
import type { TenantDocuments } from "../documents/tenant-documents.ts";
import { buildFailure } from "./build-failure.ts";
import {
  type BuildInput,
  type BuildStepsOptions,
  compilePackages,
  installPackages,
  installShared,
  isDone,
  ofBuildAlone,
  projectOf,
  type StepResult,
} from "./build-steps.ts";
import { removeImage } from "./collect-images.ts";
import { takeCompiled } from "./compiled-code.ts";
import { type Interpreters, type PythonRequest, printVersion } from "./find-interpreter.ts";
import { createFormerImages } from "./former-images.ts";
import type { ImageBuilder, ImageInput } from "./image-builder.ts";
import {
  DRAFT_PREFIX,
  FORMER_PREFIX,
  findSitePackages,
  IMAGE_PATHS,
  listPackages,
  readImage,
  writeImage,
} from "./image-folder.ts";
import { writeProjectFiles } from "./project-files.ts";
import { readRequiresPython } from "./python-versions.ts";

/** Part of every environment's hash. Raise it when images are built differently. Each platform has its own images. */
export const HOSTED_BUILDER = `1-${process.platform}-${process.arch}`;

export interface HostedImagesOptions extends BuildStepsOptions {
  readonly interpreters: Interpreters;
  /** Reads locks and requirements within limits. */
  readonly documents: TenantDocuments;
  /** Cache of public index files, shared by all organizations; null for no cache. */
  readonly shared: SharedPackages | null;
  /** Unpacks system packages into a folder; null where pods could not see them. */
  readonly unpackSystem: UnpackSystem | null;
  now(): Date;
}

export interface SharedPackages {
  readonly folder: string;
  readonly index: SharedIndex;
  /**
   * Receives the reason when the cache cannot be used. The message is for operators, not organizations; builds continue
   * without the cache.
   */
  onTrouble(error: unknown): void;
}

/** @throws build_failed with the package that could not be fetched */
export type UnpackSystem = (
  input: { readonly packages: readonly string[]; readonly folder: string; onLine(line: string): void },
  signal: AbortSignal,
) => Promise<SystemPart>;

/**
 * Builds hosted images with uv: virtual environments in the organization's folder, built by tasks with the limits of
 * pods. An environment that comes completely from the shared index is first installed from the shared cache, without
 * running package code. Others, and those that need a source build, install from the organization's own cache.
 */
export function createHostedImages(options: HostedImagesOptions): ImageBuilder {
  const running = new Map<string, Promise<unknown>>();
  const formers = createFormerImages();

  async function check(environment: EnvironmentDocument, organizationId: string): Promise<void> {
    await options.documents.check(environment, organizationId);
    const { system_packages: systemPackages } = environment;
    if (systemPackages.length > 0 && options.unpackSystem === null) throw noSystemPackages(systemPackages);
    await options.interpreters.check(pythonRequestOf(environment));
  }

  async function build(input: ImageInput, signal: AbortSignal): Promise<BuiltImage> {
    await options.documents.check(input.environment, input.labels.organization_id);
    // databases with the same environment wait for one build
    for (let other = running.get(input.image_folder); other !== undefined; other = running.get(input.image_folder)) {
      await other.catch(() => undefined);
      signal.throwIfAborted();
    }
    const made = buildAlone(input, signal).finally(() => running.delete(input.image_folder));
    running.set(input.image_folder, made);
    return await made;
  }

  async function buildAlone(input: ImageInput, signal: AbortSignal): Promise<BuiltImage> {
    const { environment, image_folder: imageFolder } = input;
    const there = input.is_forced === true ? undefined : readImage(imageFolder);
    if (there !== undefined) return there;
    const facts = await options.interpreters.find(pythonRequestOf(environment), signal);
    const name = lazyCrypto().randomBytes(6).toString("hex");
    const draft = join(dirname(imageFolder), `${DRAFT_PREFIX}${name}`);
    try {
      mkdirSync(draft, { recursive: true, mode: 0o711 });
      const secrets = Object.fromEntries(Object.entries(input.secrets).map(([key, secret]) => [key, secret.reveal()]));
      const { labels, onLine } = input;
      const diskBytes = Math.min(input.max_bytes ?? Number.POSITIVE_INFINITY, options.limits.disk_bytes);
      const limits = { ...options.limits, disk_bytes: diskBytes };
      const started = { id: `build-${name}`, labels, limits, draft, environment, facts, secrets, onLine };
      logStart(started);
      const system = await addSystem(started, signal);
      await writeImage(draft, await fill(input, { ...started, system }, signal));
      await put(draft, input);
      const image = readCompleteImage(imageFolder);
      formers.add(imageFolder, image);
      return image;
    } finally {
      await removeFolder(draft);
    }
  }

  async function fill(input: ImageInput, build: BuildInput, signal: AbortSignal): Promise<BuiltImage> {
    const { draft, environment, facts, onLine, system } = build;
    const python = printVersion(facts.version);
    const isShared = await install(input, build, signal);
    const sitePackages = findSitePackages(draft, python);
    if (sitePackages === undefined) throw corruptImage(build);
    if (environment.source !== null)
      await compile(
        build,
        {
          previous: formers.find(input.image_folder, python, isShared),
          is_shared: isShared,
          site_packages: sitePackages,
        },
        signal,
      );
    for (const path of ofBuildAlone(draft)) await removeFolder(path);
    const packages = await listPackages(sitePackages);
    onLine(`${packages.length} ${packages.length === 1 ? "package is" : "packages are"} installed`);
    const built = {
      python,
      python_prefix: facts.prefix,
      base_python: facts.base,
      packages,
      system,
      is_shared: isShared,
    };
    return { ...built, ...(await folderUse([draft])), built_at: options.now().toISOString() };
  }

  async function addSystem(
    { draft, environment, onLine }: Omit<BuildInput, "system">,
    signal: AbortSignal,
  ): Promise<SystemPart | null> {
    const { system_packages: packages } = environment;
    if (packages.length === 0) return null;
    if (options.unpackSystem === null) throw noSystemPackages(packages);
    return await options.unpackSystem({ packages, folder: join(draft, IMAGE_PATHS.system), onLine }, signal);
  }

  /** True when everything came from the shared cache. */
  async function install(input: ImageInput, build: BuildInput, signal: AbortSignal): Promise<boolean> {
    const { shared } = options;
    const { draft, environment } = build;
    const venv = join(draft, IMAGE_PATHS.venv);
    const begin = async () => {
      // processes that run package code may hold no file of the shared cache
      for (const path of [venv, ...ofBuildAlone(draft)]) await removeFolder(path);
      mkdirSync(venv);
      mkdirSync(projectOf(draft), { recursive: true });
      await writeProjectFiles(environment, input.project, projectOf(draft), signal);
    };
    await begin();
    if (
      shared !== null &&
      (await options.documents.isShareable(environment, shared.index, input.labels.organization_id))
    ) {
      if (await tryShared(shared, build, signal)) return true;
      await begin();
    }
    const result = await installPackages(options, build, input.cache_folder, signal);
    if (!isDone(result)) throw failure(build, result);
    return false;
  }

  /** Returns false when the cache cannot be used; the build does not fail. */
  async function tryShared(shared: SharedPackages, build: BuildInput, signal: AbortSignal): Promise<boolean> {
    try {
      const tried = await installShared(options, build, shared.folder, signal);
      if (isDone(tried)) return true;
      const reason = FALLS_BACK.find(([pattern]) => pattern.test(tried.output))?.[1];
      if (reason === undefined) shared.onTrouble(failure(build, tried));
      build.onLine(reason ?? "The shared package cache cannot be used. The packages are downloaded.");
    } catch (error) {
      signal.throwIfAborted();
      shared.onTrouble(error);
    }
    return false;
  }

  async function compile(
    build: BuildInput,
    into: { readonly previous: readonly string[]; readonly is_shared: boolean; readonly site_packages: string },
    signal: AbortSignal,
  ): Promise<void> {
    const modules = await takeCompiled(into.previous, into.site_packages);
    if (modules.length === 0) return;
    // a module with invalid syntax for this version sets an exit code, as its import would
    const result = await compilePackages(options, build, { is_shared: into.is_shared, modules }, signal);
    if (result.exit.exceeded !== null || result.exit.is_out_of_memory) throw failure(build, result);
  }

  function failure({ facts, limits }: BuildInput, { building, exit, output }: StepResult): AppError {
    return buildFailure({ building, exit, output, python: printVersion(facts.version), limits });
  }

  return { build, check };
}

function logStart({ environment, facts, onLine }: Omit<BuildInput, "system">): void {
  const source = environment.source ?? "the base library alone";
  onLine(`Python ${printVersion(facts.version)}, ${process.platform} ${process.arch}, packages from ${source}`);
}

/** Messages of uv when the shared cache lacks a package, with the line for the build log. */
const FALLS_BACK: readonly [RegExp, string][] = [
  [/--no-build|binary distribution/, "A package has no wheel for this platform and is built from source."],
  // uv keeps one file per name: a forged lock must not block others from their file
  [/hash mismatch/i, "The shared copy of a package does not match this lock. The package is downloaded."],
];

/**
 * Moves a finished image to its folder. An image that a concurrent build put there is kept, unless a rebuild was
 * requested.
 */
async function put(draft: string, { image_folder: imageFolder, is_forced: isForced }: ImageInput): Promise<void> {
  // an incomplete image there was lost by the disk after a crash
  if (existsSync(imageFolder) && readImage(imageFolder) === undefined) await removeImage(imageFolder);
  if (isForced === true && existsSync(imageFolder)) {
    renameSync(
      imageFolder,
      join(dirname(imageFolder), `${FORMER_PREFIX}${Date.now()}-${basename(draft).slice(DRAFT_PREFIX.length)}`),
    );
  }
  try {
    renameSync(draft, imageFolder);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
  await syncPath(dirname(imageFolder));
}

function readCompleteImage(imageFolder: string): BuiltImage {
  const image = readImage(imageFolder);
  if (image === undefined) throw new Error(`There is no image in ${imageFolder}`);
  return image;
}

function pythonRequestOf({ files, python_version: pythonVersion }: EnvironmentDocument): PythonRequest {
  const lock = files.find(({ path }) => path === "uv.lock")?.text;
  return { version: pythonVersion, requires: lock === undefined ? undefined : readRequiresPython(lock) };
}

function noSystemPackages(packages: readonly string[]): AppError {
  return appError("system_packages_refused", {
    detail: `The image needs the system packages ${packages.join(", ")}, which this server's pods cannot get.`,
    hint: "Remove system_packages from the database's entry, or ask the operator to run pods with the driver `sandbox`.",
    meta: { system_packages: packages },
  });
}

function corruptImage({ facts }: BuildInput): AppError {
  return appError("build_failed", {
    detail: `The environment for Python ${printVersion(facts.version)} was moved from its folder by a package during the build.`,
    hint: "Find the package whose build writes outside of its own folder: cli db logs <db_uri> --build",
  });
}
