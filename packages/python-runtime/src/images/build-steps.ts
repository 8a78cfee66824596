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

/** Resources that a build may use. */
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
/** One process compiles fewer modules sooner than several processes start. */
const FEW_MODULES = 100;
/** First words of the lines of one uv warning. */
const LINK_WARNINGS = [
  "warning: Failed to hardlink files",
  "If the cache and target directories are on different filesystems, hardlinking",
  "If this is intentional, set `export UV_LINK_MODE=copy`",
];
/** Lines of output kept to explain a failure. The log gets all of them. */
const KEPT_LINES = 400;
const LONGEST_LINE = 4_000;
/**
 * Number of lines of a step that are processed as they arrive. Of later lines only the last ones are reported at the
 * end: processing all would cost the server more than the build.
 */
const LINES_AS_THEY_COME = 10_000;
/** uv's line for a package from an index or a path. */
const BUILDING = /^\s*Building (\S+==\S+|\S+(?= @ ))/;
/** Files where systems keep trusted authorities. */
const SYSTEM_AUTHORITIES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/cert.pem",
];

export interface BuildStepsOptions {
  readonly uv: string;
  /** The operator's proxies. Builds get nothing else of the service's environment. */
  readonly network_env: Readonly<Record<string, string>>;
  /** Authority of the operator's proxy or index, trusted in addition to the system's. */
  readonly ca_file: string | undefined;
  readonly allowed_hosts: readonly string[];
  readonly limits: BuildLimits;
  readonly runTask: TaskRunner["run"];
}

/** One build: its folders, its environment and how its steps run. */
export interface BuildInput {
  readonly id: string;
  readonly labels: PodLabels;
  /** Limits of this build, from the builder's. */
  readonly limits: BuildLimits;
  /** Folder that becomes the image. Builds write into its `venv` and `build`. */
  readonly draft: string;
  readonly environment: EnvironmentDocument;
  readonly facts: PythonFacts;
  readonly secrets: Readonly<Record<string, string>>;
  /** System packages unpacked below the draft. Source builds find headers and libraries there. */
  readonly system: SystemPart | null;
  onLine(line: string): void;
}

/** How a step ended, and its last output. */
export interface StepResult {
  readonly exit: PodExit;
  readonly output: string;
  /** The package whose build began last. Kept apart from `output`, which long output overwrites. */
  readonly building: string | undefined;
}

/** Folder of a draft with project, home and scratch files; removed when the build ends. */
const BUILD = "build";

const MODULES = "modules";

/** The only user that writes into the shared cache. */
const SHARED_USER = "packages";

/** Folder where a build finds the project's files. */
export function projectOf(draft: string): string {
  return join(draft, BUILD_PARTS.project);
}

/** Parts of a draft that do not belong to the image. */
export function ofBuildAlone(draft: string): string[] {
  return [join(draft, BUILD), join(draft, MODULES)];
}

/**
 * Installs a lock's packages from the shared cache as the only user that writes there. Runs no package code and reads
 * only the lock. The environment is made next to the cache because files cannot be linked across mounts, and moves to
 * the draft when complete. Its files stay links into the cache.
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
  // the project's settings could name other indexes or programs, and none is needed
  const install = syncCommand(input, ["--no-build", "--no-config", "--python", facts.base]);
  const env = {
    // without secrets, private authorities and libraries of the organization
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

/** A step that exceeded its limits makes no image, even when it succeeded. */
export function isDone({ exit }: StepResult): boolean {
  return exit.code === 0 && exit.exceeded === null;
}

function createCommand(uv: string, { base }: PythonFacts, venv: string): string[] {
  const how = ["--relocatable", "--allow-existing", "--no-project", "--no-config"];
  return [uv, "venv", ...how, "--python", base, venv];
}

/** Compiles modules with the base interpreter as the user who owns the environment. Runs no package code. */
export async function compilePackages(
  options: BuildStepsOptions,
  build: BuildInput,
  { is_shared: isShared, modules }: { readonly is_shared: boolean; readonly modules: readonly string[] },
  signal: AbortSignal,
): Promise<StepResult> {
  const { facts } = build;
  // package code wrote here, so its links are not followed
  await removeFolder(join(build.draft, BUILD));
  mkdirSync(projectOf(build.draft), { recursive: true });
  // package code could not have put a link here
  const list = join(build.draft, MODULES);
  // names with a line end are skipped and compiled on import
  writeFileSync(
    list,
    modules
      .filter((path) => !path.includes("\n"))
      .map((path) => `${path}\n`)
      .join(""),
  );
  const jobs = modules.length < FEW_MODULES ? 1 : Math.max(1, Math.floor(options.limits.cpu));
  // other organizations get links to compiled code of the shared cache and must not see the path of the first one
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
      if (isLinkWarning(written)) return;
      came += 1;
      if (came <= LINES_AS_THEY_COME) return take(written.slice(0, LONGEST_LINE));
      late.push(written.slice(0, LONGEST_LINE));
      if (late.length >= 2 * KEPT_LINES) late.splice(0, KEPT_LINES);
    },
  };
  const exit = await options.runTask(task, signal);
  for (const written of late.slice(-KEPT_LINES)) take(written);
  return { exit, output: lines.join("\n"), building };
}

/** Lines in which uv reports copying from its cache, which is another mount in a sandbox. Users cannot change this. */
export function isLinkWarning(line: string): boolean {
  return LINK_WARNINGS.some((beginning) => line.trimStart().startsWith(beginning));
}

/** Quotes a word for a shell command. */
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
    // a prompt would block the build until its timeout
    GIT_TERMINAL_PROMPT: "0",
  };
}

/** Paths where compilers, pkg-config and programs find unpacked system packages. */
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

/** Certificates of the system, the operator and the organization. */
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
