import { existsSync, lstatSync, readlinkSync } from "node:fs";
import { sep } from "node:path";
import { environmentOptions } from "@appdb/system/processes/bubblewrap-options";

/** User id of a pod's programs, and of the application's code. Neither is root. */
export const POD_UID = 1000;
export const CODE_UID = 1001;

/** A folder or a file with the path at which it is visible. */
export interface Sight {
  readonly source: string;
  readonly target: string;
  readonly mode: "read" | "write";
}

/** Folders of programs and libraries. Most current systems have links into /usr there. */
export const SYSTEM_FOLDERS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/**
 * Configuration files that programs read: library paths, trusted certificates, time zone. None describes this machine.
 */
const SYSTEM_SETTINGS = [
  "/etc/alternatives",
  "/etc/ca-certificates",
  "/etc/crypto-policies",
  "/etc/fonts",
  "/etc/gai.conf",
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/localtime",
  "/etc/mime.types",
  "/etc/pki",
  "/etc/protocols",
  "/etc/services",
  "/etc/ssl",
];

/** bubblewrap options that mount the system's program folders read-only. */
export function systemPrograms(): string[] {
  const folders = SYSTEM_FOLDERS.flatMap((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return [];
    return found.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
  });
  return ["--ro-bind", "/usr", "/usr", ...folders];
}

/** System configuration files visible to a pod. */
export function systemSettings(): Sight[] {
  const there = SYSTEM_SETTINGS.filter((path) => existsSync(path));
  return there.map((path) => ({ source: path, target: path, mode: "read" }));
}

export interface BoxInput {
  readonly uid: number;
  /** Result of `systemPrograms`. */
  readonly programs: readonly string[];
  /** Everything else that is visible. */
  readonly mounts: readonly Sight[];
  /** The folder /tmp: in memory, or a folder of the machine. */
  readonly temporary: { readonly size_bytes: number } | { readonly source: string };
  /** `own`: only a private loopback. `given`: the network of the process that starts it. */
  readonly network: "own" | "given";
  /** Whether a nested sandbox can be made in it. It then stays in the machine's control-group namespace. */
  readonly is_outer: boolean;
  /** Null for the starter's working directory, if visible. */
  readonly cwd: string | null;
  /** Null for the starter's environment, or that of further options. */
  readonly env: Readonly<Record<string, string>> | null;
}

/**
 * bubblewrap options of a sandbox: an unprivileged user, its own namespaces, a read-only system, and only the given
 * parts of the machine. It ends with the process that starts it. A process that moves others between groups (the pod,
 * for the application's code) keeps the outer control-group namespace, otherwise it would not see them.
 */
export function boxOptions(box: BoxInput): string[] {
  return [
    "--unshare-user",
    "--uid",
    String(box.uid),
    "--gid",
    String(box.uid),
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--hostname",
    "pod",
    ...(box.network === "own" ? ["--unshare-net"] : []),
    // its own session, so that signals to the process group stay inside
    ...(box.is_outer ? [] : ["--unshare-cgroup", "--disable-userns", "--new-session"]),
    ...box.programs,
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    ...("source" in box.temporary
      ? ["--bind", box.temporary.source, "/tmp"]
      : ["--size", String(box.temporary.size_bytes), "--tmpfs", "/tmp"]),
    "--symlink",
    "../tmp",
    "/var/tmp",
    "--dir",
    "/run",
    ...inOrder(box.mounts).flatMap(({ mode, source, target }) => [
      mode === "read" ? "--ro-bind" : "--bind",
      source,
      target,
    ]),
    "--remount-ro",
    "/",
    ...(box.cwd === null ? [] : ["--chdir", box.cwd]),
    ...(box.env === null ? [] : environmentOptions(box.env)),
  ];
}

/** Outer folders first, so that none hides another. */
function inOrder(mounts: readonly Sight[]): Sight[] {
  const depth = ({ target }: Sight) => target.split(sep).length;
  return [...mounts].sort((one, other) => depth(one) - depth(other));
}
