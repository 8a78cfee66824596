import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import { moveFile } from "@appdb/system/files/move-file";
import { lazyCrypto } from "@appdb/system/processes/lazy-crypto";
import type { Tools } from "@appdb/system/tools/locate-tools";
import { hasPackage, minorVersion, type PythonFacts, probePython } from "./probe-python.ts";
import { textKey } from "./text-key.ts";

/** The worker's only dependency. Pinned to the version in the installation's own environment. */
const MSGPACK = "msgpack==1.2.4";
const INSTALL_TIMEOUT_MS = 20_000;
/** Until the next attempt, a slower msgpack without compiled code is used. */
const RETRY_MS = 24 * 3600 * 1000;
const run = promisify(execFile);

export interface LibraryPathsInput {
  readonly facts: PythonFacts;
  readonly tools: Tools;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Folders that add `appdb` and msgpack to an environment that lacks them. They contain nothing else, because an
 * application must not see the packages of our own tools. Windows has no time zone data for Python, so it gets that as
 * well.
 * @throws environment_failed when neither a compiled nor a plain msgpack is available
 */
export async function findLibraryPaths(
  input: LibraryPathsInput,
  platform: NodeJS.Platform = process.platform,
): Promise<string[]> {
  const { facts } = input;
  const paths: string[] = [];
  if (!hasPackage(facts, "appdb")) paths.push(provideLibrary(input));
  if (!hasPackage(facts, "msgpack")) paths.push(await provideMsgpack(input));
  if (platform === "win32" && !hasPackage(facts, "tzdata")) paths.push(...provideTimeZones(input));
  return paths;
}

/**
 * A folder that contains only `appdb`: the checkout's own folder, or a folder in the home that links to an installed
 * package.
 */
function provideLibrary({ home, tools }: LibraryPathsInput): string {
  const { library, site_packages: sitePackages } = tools;
  if (library === undefined) throw libraryMissing();
  if (library !== sitePackages) return library;
  return linkPackage(home, library, "appdb", "library");
}

async function provideMsgpack(input: LibraryPathsInput): Promise<string> {
  const { facts, home, tools } = input;
  const { site_packages: sitePackages } = tools;
  if (sitePackages === undefined) throw libraryMissing();
  // compiled for exactly this version
  if ((await readOwnVersion(input, sitePackages)) === minorVersion(facts))
    return linkPackage(home, sitePackages, "msgpack", "msgpack");
  const compiled = join(home, HOME_PATHS.base, `${MSGPACK.replace("==", "-")}-py${minorVersion(facts)}`);
  if (existsSync(compiled)) return compiled;
  const plain = join(home, HOME_PATHS.base, `${MSGPACK.replace("==", "-")}-plain`);
  const tried = statSync(`${compiled}.tried`, { throwIfNoEntry: false });
  if (tried === undefined || tried.mtimeMs < Date.now() - RETRY_MS) {
    if (await installMsgpack(input, compiled)) return compiled;
  }
  return copyPlain(sitePackages, plain);
}

/** Plain files that fit every version. Without them, Python on Windows knows only UTC. */
function provideTimeZones({ home, tools }: LibraryPathsInput): string[] {
  const { site_packages: sitePackages } = tools;
  const exists = sitePackages !== undefined && existsSync(join(sitePackages, "tzdata", "__init__.py"));
  return exists ? [linkPackage(home, sitePackages, "tzdata", "tzdata")] : [];
}

/** Python version of the installation's packages. The folder name contains it, except on Windows. */
async function readOwnVersion(input: LibraryPathsInput, sitePackages: string): Promise<string | undefined> {
  const named = /[\\/]python(\d+\.\d+)[\\/]/.exec(sitePackages)?.[1];
  const { base_python: basePython } = input.tools;
  if (named !== undefined || basePython === undefined) return named;
  const cacheFolder = join(input.home, HOME_PATHS.pythons);
  return minorVersion(await probePython({ python: basePython, cache_folder: cacheFolder, env: input.env }));
}

/** Installs msgpack for another version of Python. False when the registry is unreachable or has no build. */
async function installMsgpack({ env, facts, tools }: LibraryPathsInput, folder: string): Promise<boolean> {
  const draft = `${folder}.${lazyCrypto().randomBytes(4).toString("hex")}.tmp`;
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  try {
    if (tools.uv === undefined) return false;
    const args = ["pip", "install", "--no-deps", "--python", facts.executable, "--target", draft, MSGPACK];
    await run(tools.uv, args, { env, timeout: INSTALL_TIMEOUT_MS, windowsHide: true });
    renameOnce(draft, folder);
    return true;
  } catch {
    // registry unreachable: use the plain version and retry a day later
    mkdirSync(`${folder}.tried`, { recursive: true, mode: 0o700 });
    return false;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Copies msgpack without its compiled part, which fits every version. */
function copyPlain(sitePackages: string, folder: string): string {
  if (existsSync(folder)) return folder;
  const draft = `${folder}.${lazyCrypto().randomBytes(4).toString("hex")}.tmp`;
  cpSync(join(sitePackages, "msgpack"), join(draft, "msgpack"), {
    recursive: true,
    filter: (path) => !/\.(so|pyd)$|__pycache__/.test(path),
  });
  renameOnce(draft, folder);
  return folder;
}

/** Makes a folder with a link to one package of another folder. */
function linkPackage(home: string, from: string, name: string, kind: string): string {
  const key = textKey(from);
  const folder = join(home, HOME_PATHS.base, `${kind}-${key}`);
  if (existsSync(join(folder, name, "__init__.py"))) return folder;
  rmSync(folder, { recursive: true, force: true });
  const draft = `${folder}.${lazyCrypto().randomBytes(4).toString("hex")}.tmp`;
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  symlinkSync(join(from, name), join(draft, name), "junction");
  renameOnce(draft, folder);
  return folder;
}

/** Moves a finished folder into place. Another command's folder with the same contents is kept. */
function renameOnce(draft: string, folder: string): void {
  try {
    moveFile(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

function libraryMissing(): Error {
  return appError("environment_failed", {
    detail: "This installation has no Python library to add to the application's environment.",
    hint: "Install appdb into the application's environment: pip install appdb",
  });
}
