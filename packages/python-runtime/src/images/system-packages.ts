import { execFile } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import type { ImagePackage, SystemPart } from "@appdb/contract/control/image-documents";
import { type AppError, appError } from "@appdb/contract/errors";
import type { UnpackSystem } from "./build-image.ts";

const APT_TIMEOUT_MS = 5 * 60_000;
const OUTPUT_BYTES = 16 * 1024 * 1024;
/** Age after which package lists are fetched again. */
const LISTS_AGE_MS = 24 * 3600_000;
const LIBRARY = /^lib.*\.so(\.[\d.]+)?$/;
const PROGRAM_FOLDERS = ["usr/local/bin", "usr/bin", "bin", "usr/local/sbin", "usr/sbin", "sbin", "usr/games"];
const run = promisify(execFile);

export interface SystemPackagesOptions {
  /** Folder of package lists; the system's own lists stay unchanged. */
  readonly state_folder: string;
  /** Packages installed where images run. They are not unpacked again. */
  readonly status_file: string;
  /** Replaces the system's list of sources. */
  readonly sources_file?: string;
  /** Maximum unpacked size of a build's packages, in bytes. */
  readonly disk_bytes: number;
  /** The operator's proxies. */
  readonly network_env: Readonly<Record<string, string>>;
}

/**
 * Fetches Debian packages with missing dependencies from the operator's sources and unpacks them below a folder. It
 * runs no package script and changes nothing of the system, so it needs no privileges. Names must be checked before.
 */
export function createSystemPackages(options: SystemPackagesOptions): UnpackSystem {
  let updating: Promise<void> | undefined;

  return async function unpackSystem({ folder, onLine, packages }, signal) {
    updating ??= update(options, onLine).finally(() => {
      updating = undefined;
    });
    await updating;
    signal.throwIfAborted();
    const archives = `${folder}-archives`;
    mkdirSync(join(archives, "partial"), { recursive: true });
    mkdirSync(folder);
    try {
      const args = ["install", "--yes", "--no-install-recommends", "--download-only", ...packages];
      const fetched = await apt(options, [`Dir::Cache::archives=${archives}`], args, signal).catch((cause: unknown) => {
        signal.throwIfAborted();
        throw explain(packages, cause);
      });
      for (const line of fetched.split("\n")) if (/^(Need to get|After this|Get:)/.test(line)) onLine(line);
      const files = readdirSync(archives)
        .filter((name) => name.endsWith(".deb"))
        .map((name) => join(archives, name));
      const found = await Promise.all(files.map((file) => describe(file, signal)));
      refuseLarge(found, options.disk_bytes);
      for (const { file, name, version } of found) {
        await run("dpkg-deb", ["--extract", file, folder], {
          env: environment(options),
          signal,
          timeout: APT_TIMEOUT_MS,
        });
        onLine(`Unpacked ${name} ${version}`);
      }
      return { packages: found.map(({ name, version }) => ({ name, version })), ...scanFolder(folder) };
    } finally {
      await rm(archives, { recursive: true, force: true });
    }
  };
}

/** Refreshes package lists when they are old. Old lists are used while the sources are unreachable. */
async function update(options: SystemPackagesOptions, onLine: (line: string) => void): Promise<void> {
  const stamp = join(options.state_folder, "updated");
  const ageMs = Date.now() - (statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  if (ageMs >= 0 && ageMs < LISTS_AGE_MS) return;
  mkdirSync(join(options.state_folder, "lists", "partial"), { recursive: true, mode: 0o700 });
  try {
    await apt(options, ["APT::Update::Error-Mode=any"], ["update"], undefined);
    writeFileSync(stamp, "");
  } catch (cause) {
    if (!existsSync(stamp)) throw explain([], cause);
    onLine("The lists of system packages could not be fetched. The previous lists are used.");
  }
}

async function apt(
  options: SystemPackagesOptions,
  more: readonly string[],
  command: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string> {
  const { sources_file: sourcesFile, state_folder: stateFolder, status_file: statusFile } = options;
  const settings = [
    `Dir::State=${stateFolder}`,
    `Dir::State::status=${statusFile}`,
    `Dir::Cache=${join(stateFolder, "cache")}`,
    ...(sourcesFile === undefined ? [] : [`Dir::Etc::sourcelist=${sourcesFile}`, "Dir::Etc::sourceparts=-"]),
    // nothing is installed and the folders are private, so no lock is needed
    "Debug::NoLocking=true",
    "APT::Sandbox::User=root",
    ...more,
  ];
  mkdirSync(join(stateFolder, "cache", "archives", "partial"), { recursive: true, mode: 0o700 });
  const args = [...settings.flatMap((setting) => ["-o", setting]), "-q", ...command];
  const { stdout } = await run("apt-get", args, {
    env: environment(options),
    timeout: APT_TIMEOUT_MS,
    maxBuffer: OUTPUT_BYTES,
    ...(signal === undefined ? {} : { signal }),
  });
  return stdout;
}

function environment({ network_env: networkEnv }: SystemPackagesOptions): Record<string, string> {
  const proxies = Object.entries(networkEnv).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    LANG: "C.UTF-8",
    DEBIAN_FRONTEND: "noninteractive",
    ...Object.fromEntries(proxies),
  };
}

interface Archive extends ImagePackage {
  readonly file: string;
  readonly installed_kb: number;
}

async function describe(file: string, signal: AbortSignal): Promise<Archive> {
  const format = "$" + "{Package}\\t$" + "{Version}\\t$" + "{Installed-Size}";
  const { stdout } = await run("dpkg-deb", [`--showformat=${format}`, "--show", file], {
    signal,
    timeout: APT_TIMEOUT_MS,
  });
  const [name = "", version = "", size = ""] = stdout.split("\t");
  return { file, name, version, installed_kb: Number(size) || 0 };
}

function refuseLarge(archives: readonly Archive[], diskBytes: number): void {
  const bytes = archives.reduce((sum, { installed_kb: installedKb }) => sum + installedKb * 1024, 0);
  if (bytes <= diskBytes) return;
  const largest = [...archives]
    .sort((a, b) => b.installed_kb - a.installed_kb)
    .slice(0, 3)
    .map(({ name }) => name);
  throw appError("build_failed", {
    detail: `The system packages take ${Math.ceil(bytes / 1024 ** 2)} MB, the largest of them ${largest.join(", ")}; an image may have ${Math.floor(diskBytes / 1024 ** 2)} MB of them.`,
    hint: "Remove packages from system_packages, or ask the operator for larger builds.",
    meta: { bytes },
  });
}

/**
 * Finds folders of libraries and programs. Removes set-user-id bits so that programs of an image cannot change the
 * user.
 */
function scanFolder(folder: string): Pick<SystemPart, "library_paths" | "program_paths"> {
  const libraryPaths: string[] = [];
  const waiting = [folder];
  for (let here = waiting.pop(); here !== undefined; here = waiting.pop()) {
    let hasLibrary = false;
    for (const entry of readdirSync(here, { withFileTypes: true })) {
      const path = join(here, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      else hasLibrary ||= LIBRARY.test(entry.name);
      const { mode } = lstatSync(path);
      if (entry.isFile() && (mode & 0o6000) !== 0) chmodSync(path, mode & 0o777);
    }
    if (hasLibrary) libraryPaths.push(relative(folder, here));
  }
  const programPaths = PROGRAM_FOLDERS.filter((path) => existsSync(join(folder, path)));
  return { library_paths: libraryPaths.sort(), program_paths: programPaths };
}

/** Messages of apt by package: `E: Unable to locate package x`. */
function explain(packages: readonly string[], cause: unknown): AppError {
  const stderr = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : String(cause);
  const words = stderr
    .split("\n")
    .filter((line) => /^[EW]: /.test(line))
    .map((line) => line.slice(3).trim());
  const about =
    packages.length === 0
      ? "The lists of system packages could not be fetched"
      : `The system packages ${packages.join(", ")} could not be fetched`;
  return appError("build_failed", {
    detail: `${about}: ${words.join(" ") || stderr.trim().split("\n").at(-1) || "apt-get ended without output"}`,
    hint: "Use package names of this server's Debian for system_packages in the database's entry",
    meta: { system_packages: packages },
    cause,
  });
}
