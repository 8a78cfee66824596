import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SystemPart } from "@appdb/contract/control/image-documents";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import type { PodExit, PodLabels } from "@appdb/pods/driver/pod-driver";
import type { PodFolder, PodTask, TaskRunner } from "@appdb/pods/driver/task-runner";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { BUILD_PARTS, nameBuildPaths } from "./build-paths.ts";
import { CERTIFICATES_SECRET, hideSecrets, selectBuildSecrets } from "./build-secrets.ts";
import { IMAGE_PATHS, SHARED_PATHS } from "./image-folder.ts";
import type { PythonFacts } from "./probe-python.ts";
import { pipCommand, syncCommand } from "./uv-commands.ts";
import { interpreterOf } from "./venv-images.ts";

/** What a build may use. */
export type BuildLimits = PodTask["limits"];

export const BUILD_LIMITS: BuildLimits = {
  cpu: 2,
  memory_mb: 4_096,
  tasks: 512,
  timeout_ms: 15 * 60_000,
  disk_bytes: 20 * 1024 ** 3,
  files: 1_000_000,
};
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Compiled sooner by one process than others take to start. */
const FEW_MODULES = 100;
/** How the lines of one warning of uv begin. */
const LINK_WARNINGS = [
  "warning: Failed to hardlink files",
  "If the cache and target directories are on different filesystems, hardlinking",
  "If this is intentional, set `export UV_LINK_MODE=copy`",
];
/** What is kept of a build's words to explain its failure; all of them go to the log. */
const KEPT_LINES = 400;
const LONGEST_LINE = 4_000;
/** Lines of a step that are looked through as they come. Of those that follow, the last are told when it ends: to look through all costs the server more than the build. */
const LINES_AS_THEY_COME = 10_000;
/** As uv says it, of a package of an index and of one of a path. */
const BUILDING = /^\s*Building (\S+==\S+|\S+(?= @ ))/;
/** Where systems keep the authorities that they trust. */
const SYSTEM_AUTHORITIES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/cert.pem",
];

export interface BuildStepsOptions {
  readonly uv: string;
  /** Proxies of the operator; nothing else of the service's environment reaches a build. */
  readonly network_env: Readonly<Record<string, string>>;
  /** An authority that the operator's proxy or index shows; builds trust it besides the system's. */
  readonly ca_file: string | undefined;
  readonly allowed_hosts: readonly string[];
  readonly limits: BuildLimits;
  readonly runTask: TaskRunner["run"];
}

/** One build: its folders, its environment and how its steps are run. */
export interface BuildInput {
  readonly id: string;
  readonly labels: PodLabels;
  /** What it may use, of the builder's. */
  readonly limits: BuildLimits;
  /** Becomes the image; a build writes in `venv` and `build` of it. */
  readonly draft: string;
  readonly environment: EnvironmentDocument;
  readonly facts: PythonFacts;
  readonly secrets: Readonly<Record<string, string>>;
  /** Unpacked below the draft: what is built finds headers and libraries there. */
  readonly system: SystemPart | null;
  onLine(line: string): void;
}

/** How a step ended, with what it said last. */
export interface StepResult {
  readonly exit: PodExit;
  readonly said: string;
  /** The package that it began to build last; one that says much pushes that out of `said`. */
  readonly building: string | undefined;
}

/** Of a draft: project, home and scratch files of a build; gone when it ends. */
const BUILD = "build";

const MODULES = "modules";

/** Who alone writes into the cache of all organizations. */
const SHARED_USER = "packages";

/** Where a build finds the project's files. */
export function projectOf(draft: string): string {
  return join(draft, BUILD_PARTS.project);
}

/** What of a draft is no part of the image. */
export function ofBuildAlone(draft: string): string[] {
  return [join(draft, BUILD), join(draft, MODULES)];
}

/**
 * Installs a lock's packages from the cache of all organizations, by the user who alone writes there: no package's code is run, and nothing
 * but the lock is read. The environment is made beside the cache, for files are not linked from one mount to another, and is the
 * draft's when it is whole; its files are the cache's own from then on.
 */
export async function installShared(
  options: BuildStepsOptions,
  build: BuildInput,
  folder: string,
  signal: AbortSignal,
): Promise<StepResult> {
  const { draft, environment, facts } = build;
  const uv = realpathSync(options.uv);
  const venv = join(folder, `${SHARED_PATHS.venv_prefix}${build.id}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const input = { uv, directory: projectOf(draft), uv_options: environment.uv_options ?? undefined };
  // the project's settings could name other indexes or programs, and nothing of them is needed
  const install = syncCommand(input, ["--no-build", "--no-config", "--python", facts.base]);
  const env = {
    // neither secrets, nor authorities of the organization, nor libraries that it chose
    ...buildEnvironment(options, { ...build, secrets: {}, system: null }, {}),
    UV_CACHE_DIR: join(folder, SHARED_PATHS.cache),
    UV_PROJECT_ENVIRONMENT: venv,
  };
  const folders: PodFolder[] = [
    { path: folder, mode: "write" },
    { path: join(draft, BUILD), mode: "write" },
    { path: uv, mode: "read" },
    { path: facts.prefix, mode: "read" },
  ];
  const commands = [createCommand(uv, facts, venv), install];
  try {
    const step = { commands, env, folders, network: "internet", user: SHARED_USER, cache_folder: folder } as const;
    const result = await runStep(options, build, step, signal);
    if (isDone(result)) renameSync(venv, join(draft, IMAGE_PATHS.venv));
    return result;
  } finally {
    await removeFolder(venv);
  }
}

/** Installs the packages from the organization's own cache. */
export async function installPackages(
  options: BuildStepsOptions,
  build: BuildInput,
  cacheFolder: string,
  signal: AbortSignal,
): Promise<StepResult> {
  const { draft, environment, facts, system } = build;
  const uv = realpathSync(options.uv);
  const venv = join(draft, IMAGE_PATHS.venv);
  mkdirSync(cacheFolder, { recursive: true, mode: 0o700 });
  const create = createCommand(uv, facts, venv);
  const input = { uv, directory: projectOf(draft), uv_options: environment.uv_options ?? undefined };
  const commands = [create];
  if (environment.source === "uv.lock") {
    commands.push(syncCommand(input, ["--no-editable", "--python", facts.base]));
  } else if (environment.source === "requirements.txt") {
    commands.push(pipCommand(input, interpreterOf(venv), "requirements.txt"));
  }
  const secrets = selectBuildSecrets(environment, build.secrets);
  const folders: PodFolder[] = [
    { path: venv, mode: "write" },
    { path: join(draft, BUILD), mode: "write" },
    { path: cacheFolder, mode: "write" },
    { path: uv, mode: "read" },
    { path: facts.prefix, mode: "read" },
    ...(system === null ? [] : [{ path: join(draft, IMAGE_PATHS.system), mode: "read" } as const]),
  ];
  const env = {
    ...buildEnvironment(options, build, secrets),
    UV_CACHE_DIR: cacheFolder,
    UV_PROJECT_ENVIRONMENT: venv,
  };
  const network = commands.length > 1 ? "internet" : "none";
  return await runStep(
    options,
    build,
    { commands, env, folders, network, cache_folder: cacheFolder, user: undefined },
    signal,
  );
}

/** What ended well by itself although it had used more than it may is no image. */
export function isDone({ exit }: StepResult): boolean {
  return exit.code === 0 && exit.exceeded === null;
}

function createCommand(uv: string, { base }: PythonFacts, venv: string): string[] {
  const how = ["--relocatable", "--allow-existing", "--no-project", "--no-config"];
  return [uv, "venv", ...how, "--python", base, venv];
}

/** Compiles modules, by the base interpreter and by the user whose the environment is: none of the packages' own code runs. */
export async function compilePackages(
  options: BuildStepsOptions,
  build: BuildInput,
  { is_shared: isShared, modules }: { readonly is_shared: boolean; readonly modules: readonly string[] },
  signal: AbortSignal,
): Promise<StepResult> {
  const { facts } = build;
  // a package's code wrote here: what it left is not followed
  await removeFolder(join(build.draft, BUILD));
  mkdirSync(projectOf(build.draft), { recursive: true });
  // where no package's code could have put a link
  const list = join(build.draft, MODULES);
  // a name with a line end in it is compiled where it is imported
  writeFileSync(
    list,
    modules
      .filter((path) => !path.includes("\n"))
      .map((path) => `${path}\n`)
      .join(""),
  );
  const jobs = modules.length < FEW_MODULES ? 1 : Math.max(1, Math.floor(options.limits.cpu));
  // compiled code of the shared cache is linked into images of others, who are not to read in it for whom it was made
  const stripped = ["-s", join(build.draft, IMAGE_PATHS.venv)];
  const command = [facts.base, "-I", "-S", "-m", "compileall", "-qq", ...stripped, "-j", String(jobs), "-i", list];
  const folders: PodFolder[] = [
    { path: join(build.draft, IMAGE_PATHS.venv), mode: "write" },
    { path: join(build.draft, BUILD), mode: "write" },
    { path: list, mode: "read" },
    { path: facts.prefix, mode: "read" },
  ];
  return await runStep(
    options,
    build,
    {
      commands: [command],
      env: plainEnvironment(build),
      folders,
      network: "none",
      user: isShared ? SHARED_USER : undefined,
    },
    signal,
  );
}

interface Step {
  readonly commands: readonly (readonly string[])[];
  readonly env: Readonly<Record<string, string>>;
  readonly folders: readonly PodFolder[];
  readonly network: PodTask["network"];
  readonly user: PodTask["user"];
  readonly cache_folder?: string;
}

async function runStep(
  options: BuildStepsOptions,
  build: BuildInput,
  step: Step,
  signal: AbortSignal,
): Promise<StepResult> {
  const hide = hideSecrets(build.secrets);
  const name = nameBuildPaths({
    draft: build.draft,
    uv: realpathSync(options.uv),
    python_prefix: build.facts.prefix,
    ...(step.cache_folder === undefined ? {} : { cache_folder: step.cache_folder }),
  });
  const lines: string[] = [];
  let building: string | undefined;
  const late: string[] = [];
  let came = 0;
  const take = (written: string) => {
    const line = name(hide(written));
    building = BUILDING.exec(line)?.[1] ?? building;
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
    build.onLine(line);
  };
  const task: PodTask = {
    id: build.id,
    labels: build.labels,
    program: "/bin/sh",
    args: ["-c", step.commands.map((command) => command.map(quote).join(" ")).join(" && ")],
    env: step.env,
    cwd: projectOf(build.draft),
    folders: step.folders,
    limits: build.limits,
    network: step.network,
    user: step.user,
    allowed_hosts: options.allowed_hosts,
    onLine(written) {
      if (isAboutLinks(written)) return;
      came += 1;
      if (came <= LINES_AS_THEY_COME) return take(written.slice(0, LONGEST_LINE));
      late.push(written.slice(0, LONGEST_LINE));
      if (late.length >= 2 * KEPT_LINES) late.splice(0, KEPT_LINES);
    },
  };
  const exit = await options.runTask(task, signal);
  for (const written of late.slice(-KEPT_LINES)) take(written);
  return { exit, said: lines.join("\n"), building };
}

/** The lines in which uv says that it copies out of its cache, which is another mount in a sandbox: nothing that a person could change. */
export function isAboutLinks(line: string): boolean {
  return LINK_WARNINGS.some((beginning) => line.trimStart().startsWith(beginning));
}

/** A word of a shell's command line. */
function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function plainEnvironment({ draft }: BuildInput): Record<string, string> {
  const [home, scratch] = [join(draft, BUILD_PARTS.home), join(draft, BUILD_PARTS.scratch)];
  for (const folder of [home, scratch]) mkdirSync(folder, { recursive: true });
  return {
    PATH: SYSTEM_PATH,
    LANG: "C.UTF-8",
    HOME: home,
    TMPDIR: scratch,
    NO_COLOR: "1",
  };
}

function buildEnvironment(
  options: BuildStepsOptions,
  build: BuildInput,
  secrets: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    ...plainEnvironment(build),
    ...systemEnvironment(build),
    ...options.network_env,
    ...secrets,
    ...certificates(options, build),
    UV_NO_PROGRESS: "1",
    UV_PYTHON_DOWNLOADS: "never",
    UV_NO_COMPILE_BYTECODE: "1",
    UV_KEYRING_PROVIDER: "disabled",
    // a build that asks a person would wait until its time is over
    GIT_TERMINAL_PROMPT: "0",
  };
}

/** Where compilers, pkg-config and programs find what was unpacked. */
function systemEnvironment({ draft, system }: BuildInput): Record<string, string> {
  if (system === null) return {};
  const root = join(draft, IMAGE_PATHS.system);
  const below = (paths: readonly string[]) => paths.map((path) => join(root, path)).join(":");
  const { library_paths: libraryPaths, program_paths: programPaths } = system;
  const libraries = below(libraryPaths);
  const configs = libraryPaths.concat("usr/share").map((path) => `${path}/pkgconfig`);
  const machine = { x64: "x86_64", arm64: "aarch64" }[process.arch as string] ?? process.arch;
  return {
    PATH: [below(programPaths), SYSTEM_PATH].filter((path) => path !== "").join(":"),
    CPATH: below(["usr/include", `usr/include/${machine}-linux-gnu`]),
    PKG_CONFIG_PATH: below(configs),
    PKG_CONFIG_SYSROOT_DIR: root,
    ...(libraries === "" ? {} : { LIBRARY_PATH: libraries, LD_LIBRARY_PATH: libraries }),
  };
}

/** The authorities of the operator and of the organization, beside the system's own. */
function certificates({ ca_file: caFile }: BuildStepsOptions, { draft, secrets }: BuildInput): Record<string, string> {
  const own = secrets[CERTIFICATES_SECRET];
  if (caFile === undefined && own === undefined) return {};
  const bundle = join(draft, BUILD, "certificates.pem");
  const system = SYSTEM_AUTHORITIES.find((path) => existsSync(path));
  if (system === undefined) writeFileSync(bundle, "");
  else copyFileSync(system, bundle);
  for (const text of [caFile === undefined ? undefined : readFileSync(caFile, "utf8"), own]) {
    if (text !== undefined) writeFileSync(bundle, `\n${text}\n`, { flag: "a" });
  }
  return Object.fromEntries(
    ["SSL_CERT_FILE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"].map((name) => [name, bundle]),
  );
}
