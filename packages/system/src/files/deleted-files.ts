import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { readIfExists } from "./read-if-exists.ts";

const BLOCK_BYTES = 512;
/** Suffix by which the kernel marks a deleted file. */
const DELETED = " (deleted)";
/** What a link is that is longer than the kernel prints. */
const TOO_LONG = "(too long)";
/** Processes may end during the scan. */
const GONE = ["ENOENT", "ESRCH"];
/** Other users' processes may be unreadable. */
const UNSEEN = [...GONE, "EACCES", "EPERM"];
/** A mapping of a deleted file in `maps`: its range, its inode, and its path. */
const MAPPED = /^(\S+)-(\S+) \S+ \S+ \S+ (\d+) +(\/.*) \(deleted\)$/;
/** Descriptors that were sent through a socket and not received yet. */
const IN_FLIGHT = /^scm_fds:\s*[1-9]/m;

interface Found {
  readonly folders: readonly string[];
  /** Bytes by device and inode. */
  readonly bytes: Map<string, number>;
  readonly inodes: Set<string>;
  /** Whether a process of `code` may hold files that are not in `bytes`. */
  isHidden: boolean;
}

/**
 * Bytes of deleted files below the folders that processes of the folders' owner still hold open. A walk through the
 * folders cannot find them. Only root sees other users' processes. 0 on systems without /proc.
 *
 * `code` are hostile processes. Their descendants are searched in full: threads with descriptors of their own, mapped
 * files, and descriptors on their way through sockets. The result is infinite when one holds files that cannot be seen.
 * That can also be a moment of a process that starts or sends a descriptor, so ask again.
 */
export function deletedBytes(folders: readonly string[], code: readonly number[] = []): number {
  const found: Found = { folders, bytes: new Map(), inodes: new Set(), isHidden: false };
  const owners = new Set(folders.map((folder) => readIfExists(() => lstatSync(folder).uid, UNSEEN)));
  const processes = list("/proc").flatMap((name) =>
    /^\d+$/.test(name) ? (statusOf(`/proc/${name}`, name) ?? []) : [],
  );
  const family = descendants(processes, code);
  for (const { pid, uid } of processes) {
    if (family.has(pid)) addHostile(found, pid);
    // a process has hundreds of memory mappings; reading those of the whole machine takes a second
    else if (owners.has(uid)) for (const kind of ["fd", "map_files"]) addLinks(found, `/proc/${pid}/${kind}`);
  }
  // its own sockets receive what code sends: the output of code is a socket
  if (family.size > 0) addDescriptors(found, `/proc/${process.pid}`, list(`/proc/${process.pid}/fd`));
  return found.isHidden ? Number.POSITIVE_INFINITY : [...found.bytes.values()].reduce((sum, bytes) => sum + bytes, 0);
}

interface Status {
  readonly pid: number;
  readonly parent: number;
  readonly uid: number;
}

/** Not the owner of its folder in /proc: a process may set that to root. */
function statusOf(folder: string, pid: string): Status | undefined {
  const text = readIfExists(() => readFileSync(`${folder}/status`, "latin1"), UNSEEN);
  if (text === undefined) return undefined;
  const numberOf = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]);
  return { pid: Number(pid), parent: numberOf("PPid"), uid: numberOf("Uid") };
}

/** Zombies count: other threads of such a process may live. */
function descendants(processes: readonly Status[], roots: readonly number[]): ReadonlySet<number> {
  const members = new Set(roots);
  for (let before = -1; before !== members.size; ) {
    before = members.size;
    for (const { parent, pid } of processes) if (members.has(parent)) members.add(pid);
  }
  return members;
}

/** A thread may have descriptors that others do not have. A mapping keeps a file without a descriptor. */
function addHostile(found: Found, pid: number): void {
  const folder = `/proc/${pid}`;
  for (const thread of list(`${folder}/task`)) {
    const task = `${folder}/task/${thread}`;
    addDescriptors(found, task, seen(found, task, () => readdirSync(`${task}/fd`)) ?? []);
  }
  addLink(found, `${folder}/exe`);
  const maps = seen(found, folder, () => readFileSync(`${folder}/maps`, "latin1")) ?? "";
  for (const line of maps.split("\n")) {
    const [, start, end, inode = "", path = ""] = MAPPED.exec(line) ?? [];
    if (!isBelow(found, path) || found.inodes.has(inode)) continue;
    // only root may read these links
    addLink(found, `${folder}/map_files/${withoutZeros(start)}-${withoutZeros(end)}`);
    if (!found.inodes.has(inode)) found.isHidden = true;
  }
}

function addDescriptors(found: Found, task: string, names: readonly string[]): void {
  for (const name of names) {
    if (!addLink(found, `${task}/fd/${name}`).startsWith("socket:")) continue;
    const told = readIfExists(() => readFileSync(`${task}/fdinfo/${name}`, "latin1"), UNSEEN) ?? "";
    if (IN_FLIGHT.test(told)) found.isHidden = true;
  }
}

function withoutZeros(address = ""): string {
  return address.replace(/^0+(?=.)/, "");
}

/** What a process denies is hidden. Only one that has ended holds nothing. */
function seen<Value>(found: Found, task: string, read: () => Value): Value | undefined {
  const value = readIfExists(read, UNSEEN);
  if (value !== undefined) return value;
  const status = readIfExists(() => readFileSync(`${task}/status`, "latin1"), GONE);
  if (status !== undefined && !/^State:\s+[ZX]/m.test(status)) found.isHidden = true;
  return undefined;
}

function addLinks(found: Found, folder: string): void {
  for (const name of list(folder)) addLink(found, `${folder}/${name}`);
}

/** Returns the target; an empty text for one that has no readable path. */
function addLink(found: Found, link: string): string {
  const target = readIfExists(() => readTarget(link), UNSEEN) ?? "";
  // A path that is too long can be anywhere, and so below these folders.
  const isDeleted = target === TOO_LONG || (target.endsWith(DELETED) && isBelow(found, target));
  const file = isDeleted ? readIfExists(() => statSync(link), UNSEEN) : undefined;
  if (file !== undefined) found.inodes.add(String(file.ino));
  if (file?.nlink === 0) found.bytes.set(`${file.dev}:${file.ino}`, file.blocks * BLOCK_BYTES);
  return target;
}

function readTarget(link: string): string {
  try {
    return readlinkSync(link);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENAMETOOLONG") return TOO_LONG;
    throw error;
  }
}

function isBelow({ folders }: Found, path: string): boolean {
  return folders.some((folder) => path.startsWith(`${folder}/`));
}

function list(folder: string): string[] {
  return readIfExists(() => readdirSync(folder), UNSEEN) ?? [];
}
