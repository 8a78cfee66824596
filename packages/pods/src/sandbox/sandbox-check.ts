import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { MissingPart } from "../driver/local-driver.ts";
import { POD_ENVIRONMENT } from "../driver/local-pods.ts";
import { findGroupTrees, missingControllers } from "./control-groups.ts";
import { isTunnelClosed, openSandboxHost, type SandboxHostInput } from "./sandbox-host.ts";
import { runSandboxTask } from "./sandbox-task.ts";
import { isFilterMachine } from "./seccomp-filter.ts";

/** Programs for sandboxes, with their Debian packages. */
const PROGRAMS = {
  bwrap: "bubblewrap",
  cat: "coreutils",
  head: "coreutils",
  mkfifo: "coreutils",
  mount: "mount",
  nft: "nftables",
  setpriv: "util-linux",
  slirp4netns: "slirp4netns",
  stat: "coreutils",
  unshare: "util-linux",
  xargs: "findutils",
} as const;
/** First version that can forbid nested namespaces. */
const LEAST_BWRAP = [0, 8] as const;

/** Kernel settings that deny namespaces to ordinary users. */
const SETTINGS = [
  { file: "/proc/sys/user/max_user_namespaces", bad: "0", setting: "user.max_user_namespaces=10000" },
  { file: "/proc/sys/kernel/unprivileged_userns_clone", bad: "0", setting: "kernel.unprivileged_userns_clone=1" },
  {
    file: "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    bad: "1",
    setting: "kernel.apparmor_restrict_unprivileged_userns=0",
  },
] as const;

const TRIAL_TIMEOUT_MS = 20_000;

/**
 * Finds what this machine lacks for sandboxes: programs, kernel settings, control groups. When nothing is missing, it
 * creates a sandbox with a network as a test (a tenth of a second). An empty result therefore means that sandboxes
 * work.
 */
export async function checkSandbox(input: SandboxHostInput): Promise<MissingPart[]> {
  if (process.platform !== "linux") return [{ what: "sandboxes are made of parts of Linux", remedy: "" }];
  if (!isFilterMachine(process.arch)) {
    return [{ what: `no system call filter for the architecture ${process.arch}`, remedy: "" }];
  }
  const missing = [...missingPrograms(), ...closedSettings(), ...missingGroups(), ...missingTunnel()];
  return missing.length > 0 ? missing : await trySandbox(input);
}

function missingPrograms(): MissingPart[] {
  const parts = Object.entries(PROGRAMS).flatMap(([name, debianPackage]): MissingPart[] =>
    findProgram(name) === undefined
      ? [{ what: `there is no program ${name}`, remedy: `apt-get install ${debianPackage}` }]
      : [],
  );
  const bwrap = findProgram("bwrap");
  return bwrap === undefined ? parts : [...parts, ...oldBwrap(bwrap)];
}

/** Finds a program in the folders that are searched when pods start. */
function findProgram(name: string): string | undefined {
  return POD_ENVIRONMENT.PATH.split(":")
    .map((folder) => join(folder, name))
    .find((path) => isAllowed(path, constants.X_OK));
}

function oldBwrap(path: string): MissingPart[] {
  const text = execFileSync(path, ["--version"], { encoding: "utf8", timeout: TRIAL_TIMEOUT_MS }).trim();
  const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(text)?.slice(1) ?? []).map(Number);
  if (major > LEAST_BWRAP[0] || (major === LEAST_BWRAP[0] && minor >= LEAST_BWRAP[1])) return [];
  return [
    { what: `${text} is too old; ${LEAST_BWRAP.join(".")} or newer is required`, remedy: "install a newer bubblewrap" },
  ];
}

function closedSettings(): MissingPart[] {
  return SETTINGS.filter(({ bad, file }) => existsSync(file) && readFileSync(file, "utf8").trim() === bad).map(
    ({ bad, file, setting }) => ({
      what: `users may not make namespaces: ${file} is ${bad}`,
      remedy: `sysctl -w ${setting}, and the same line in /etc/sysctl.d/appdb.conf`,
    }),
  );
}

function missingGroups(): MissingPart[] {
  const read = (path: string) => readFileSync(path, "utf8");
  const missing = missingControllers(findGroupTrees(read("/proc/self/mountinfo"), read("/proc/self/cgroup")));
  if (missing.length === 0) return [];
  return [
    {
      what: `no control groups are mounted for ${missing.join(", ")}`,
      remedy: "start the kernel with systemd.unified_cgroup_hierarchy=1, or mount them below /sys/fs/cgroup",
    },
  ];
}

function missingTunnel(): MissingPart[] {
  if (process.getuid?.() !== 0 && isTunnelClosed()) {
    return [{ what: "only root may use /dev/net/tun", remedy: "chmod 0666 /dev/net/tun, as udev does" }];
  }
  if (existsSync("/dev/net/tun")) return [];
  return [{ what: "there is no /dev/net/tun", remedy: "modprobe tun, or give the container that device" }];
}

/** Creates a complete sandbox that does nothing. */
async function trySandbox(input: SandboxHostInput): Promise<MissingPart[]> {
  const lines: string[] = [];
  const task = {
    id: "check",
    labels: { organization_id: "check", database_id: "check", kind: "database" },
    program: "/bin/true",
    args: [],
    env: {},
    cwd: "/",
    folders: [],
    limits: { cpu: 1, memory_mb: 64, tasks: 32, timeout_ms: TRIAL_TIMEOUT_MS, disk_bytes: 1_000_000, files: 1_000 },
    network: "internet",
    allowed_hosts: [],
    onLine: (line: string) => lines.push(line),
  } as const;
  try {
    const exit = await runSandboxTask(openSandboxHost(input), task, AbortSignal.timeout(2 * TRIAL_TIMEOUT_MS));
    if (exit.code === 0) return [];
  } catch (error) {
    lines.push(error instanceof Error ? error.message : String(error));
  }
  const isRoot = process.getuid?.() === 0;
  const remedy = isRoot
    ? "run the service where root may make namespaces and control groups; grant these rights to a container"
    : "run the service as root, or give its user its own control groups: a unit with Delegate=yes";
  return [{ what: `a sandbox cannot be made: ${lines.join("; ")}`, remedy }];
}

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    // missing or inaccessible
    return false;
  }
}
