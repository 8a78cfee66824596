import { existsSync, lstatSync, readlinkSync } from "node:fs";
import { sep } from "node:path";
import { environmentOptions } from "@appdb/system/processes/bubblewrap-options";

/** Who a pod's own programs are in it, and who the application's code is: neither is the system's first user. */
export const POD_UID = 1000;
export const CODE_UID = 1001;

/** A folder or a file, and the path under which it is seen. */
export interface Sight {
  readonly source: string;
  readonly target: string;
  readonly mode: "read" | "write";
}

/** Programs and libraries, where most systems of today have links that lead into /usr. */
export const SYSTEM_FOLDERS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** Tables that programs read: how libraries are found, who is trusted, what time it is. None that tells of this machine. */
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

/** The programs of the system, read-only, as options of bubblewrap: its folders as they lie here. */
export function systemPrograms(): string[] {
  const folders = SYSTEM_FOLDERS.flatMap((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return [];
    return found.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
  });
  return ["--ro-bind", "/usr", "/usr", ...folders];
}

/** The settings of the system that a pod sees. */
export function systemSettings(): Sight[] {
  const there = SYSTEM_SETTINGS.filter((path) => existsSync(path));
  return there.map((path) => ({ source: path, target: path, mode: "read" }));
}

export interface BoxInput {
  readonly uid: number;
  /** As `systemPrograms` gives them. */
  readonly programs: readonly string[];
  /** Whatever else is seen. */
  readonly sights: readonly Sight[];
  /** The folder /tmp: in memory, or a folder of the machine. */
  readonly temporary: { readonly size_bytes: number } | { readonly source: string };
  /** `own`: none but a loopback of its own. `given`: that of whoever starts it. */
  readonly network: "own" | "given";
  /** Whether a further sandbox can be made in it; if so it stays in the machine's namespace of control groups. */
  readonly is_outer: boolean;
  /** Null: where its starter is, if that is seen. */
  readonly cwd: string | null;
  /** Null: its starter's, or what further options say. */
  readonly env: Readonly<Record<string, string>> | null;
}

/**
 * A sandbox as options of bubblewrap: a user without privileges, namespaces of its own, the system read-only, and nothing of
 * the machine but what is given. It ends with the process that starts it. Who moves processes between groups (the pod, with
 * the application's code) would lose sight of them in a namespace of its own for control groups.
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
    // a session of its own: code that signals its process group reaches nobody around its sandbox
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
    ...inOrder(box.sights).flatMap(({ mode, source, target }) => [
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

/** The outer ones first, so that none hides another. */
function inOrder(sights: readonly Sight[]): Sight[] {
  const depth = ({ target }: Sight) => target.split(sep).length;
  return [...sights].sort((one, other) => depth(one) - depth(other));
}
