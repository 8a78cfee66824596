import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import { moveFile } from "@appdb/system/files/move-file";
import { lazyCrypto } from "@appdb/system/processes/lazy-crypto";
import { readRequirementLines } from "../environments/requirement-lines.ts";
import { explainUv, pipCommand, syncCommand } from "./uv-commands.ts";

/** Increase when environments are built differently, so that old ones are not reused. */
const BUILDER_VERSION = 1;
const BUILD_TIMEOUT_MS = 15 * 60 * 1000;

export interface VenvImageInput {
  readonly uv: string;
  readonly project_root: string;
  /** Python for a requirements.txt without a version; `uv.lock` has its own. */
  readonly base_python: string | undefined;
  /** Python that the project's configuration requests: `3.12`, `3.12.8`. */
  readonly python_version?: string | undefined;
  /** Additional uv options for installing, as the user wrote them. */
  readonly uv_options?: string | undefined;
  /** Folder of all environments. */
  readonly images_folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** File that a project's packages are read from. */
export type PackageSource = "uv.lock" | "requirements.txt";

/** File that lists a project's packages; undefined when there is none. */
export function findPackageSource(projectRoot: string): PackageSource | undefined {
  const sources = ["uv.lock", "requirements.txt"] as const;
  return sources.find((name) => existsSync(join(projectRoot, name)));
}

/**
 * Builds a project's environment or finds it. The same lock and Python give the same folder, which is built once and
 * appears atomically. Returns its interpreter.
 * @throws environment_failed with the package that could not be installed
 */
export async function ensureVenvImage(source: PackageSource, input: VenvImageInput): Promise<string> {
  const { images_folder: imagesFolder } = input;
  const folder = join(imagesFolder, hashVenv(source, input));
  if (existsSync(folder)) return interpreterOf(folder);
  mkdirSync(imagesFolder, { recursive: true, mode: 0o700 });
  const draft = join(imagesFolder, `draft-${lazyCrypto().randomBytes(6).toString("hex")}`);
  try {
    await build(source, input, draft);
    moveFile(draft, folder);
  } catch (error) {
    // another command built the same environment in the meantime
    if (existsSync(folder)) return interpreterOf(folder);
    throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return interpreterOf(folder);
}

/** Hashes all inputs of an environment to its name. */
export function hashVenv(
  source: PackageSource,
  input: Pick<VenvImageInput, "project_root" | "base_python" | "python_version" | "uv_options">,
): string {
  const {
    base_python: basePython,
    project_root: projectRoot,
    python_version: pythonVersion,
    uv_options: uvOptions,
  } = input;
  const hash = lazyCrypto().createHash("sha256");
  const parts = [String(BUILDER_VERSION), process.platform, process.arch, source, readPythonVersion(projectRoot) ?? ""];
  if (source === "requirements.txt") parts.push(basePython ?? "");
  if (pythonVersion !== undefined) parts.push(`python ${pythonVersion}`);
  if (uvOptions !== undefined) parts.push(`options ${uvOptions}`);
  const files = source === "uv.lock" ? [join(projectRoot, source)] : requirementFiles(join(projectRoot, source));
  for (const part of [...parts, ...files.map((file) => readFileSync(file, "utf8"))]) {
    hash.update(`${Buffer.byteLength(part)}:${part}`);
  }
  return hash.digest("hex").slice(0, 32);
}

async function build(source: PackageSource, input: VenvImageInput, draft: string): Promise<void> {
  const { base_python: basePython, project_root: projectRoot, python_version: pythonVersion, uv } = input;
  const install = { uv, directory: projectRoot, uv_options: input.uv_options };
  if (source === "uv.lock") {
    const env = { ...input.env, UV_PROJECT_ENVIRONMENT: draft };
    const version = pythonVersion === undefined ? [] : ["--python", pythonVersion];
    await runUv(syncCommand(install, version), env, projectRoot);
    return;
  }
  const requestedVersion = pythonVersion ?? readPythonVersion(projectRoot) ?? basePython;
  const python = requestedVersion === undefined ? [] : ["--python", requestedVersion];
  await runUv([uv, "venv", "--no-project", "--no-progress", ...python, draft], input.env, projectRoot);
  await runUv(pipCommand(install, interpreterOf(draft), source), input.env, projectRoot);
}

async function runUv(
  command: readonly string[],
  baseEnv: Readonly<Record<string, string>>,
  projectRoot: string,
): Promise<void> {
  // the user's active environment is not the one being built
  const { VIRTUAL_ENV: _active, PYTHONPATH: _path, PYTHONHOME: _home, ...env } = baseEnv;
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    env,
    stdio: ["ignore", "ignore", "pipe"],
    timeout: BUILD_TIMEOUT_MS,
    windowsHide: true,
  });
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  const failure = await new Promise<string | undefined>((settle) => {
    child.once("error", (error) => settle(`uv cannot be run: ${error.message}`));
    child.once("close", (code, signal) => settle(code === 0 ? undefined : `uv ended with ${signal ?? `code ${code}`}`));
  });
  if (failure === undefined) return;
  throw appError("environment_failed", {
    detail: `The environment of ${projectRoot} could not be built: ${explainUv(output) || failure}`,
    hint: "Correct the lock or requirements file, or python_version and uv_options; or choose a Python that has the packages: --python",
    meta: { project_root: projectRoot },
  });
}

/** The project's `.python-version` file. */
function readPythonVersion(projectRoot: string): string | undefined {
  const path = join(projectRoot, ".python-version");
  if (!existsSync(path)) return undefined;
  const first = readFileSync(path, "utf8")
    .split("\n")
    .find((line) => line.trim() !== "" && !line.startsWith("#"));
  return first?.trim();
}

/** A requirements file and those that it includes by `-r` and `-c`, each once. */
function requirementFiles(path: string, found: string[] = []): string[] {
  if (found.includes(path) || !existsSync(path)) return found;
  found.push(path);
  for (const { kind, value } of readRequirementLines(readFileSync(path, "utf8"))) {
    if (kind === "file" && !value.includes("://")) requirementFiles(resolve(dirname(path), value), found);
  }
  return found;
}

/** Interpreter of a virtual environment. */
export function interpreterOf(environment: string): string {
  return process.platform === "win32" ? join(environment, "Scripts", "python.exe") : join(environment, "bin", "python");
}
