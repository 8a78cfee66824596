import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CODE_UID, POD_UID, type Sight } from "./sandbox-layout.ts";
import { type AllowedHost, RESOLVER } from "./sandbox-network.ts";

/** Users and hosts visible to every pod; nothing of this machine. */
const SETTINGS = {
  passwd: `root:x:0:0::/:/usr/sbin/nologin
pod:x:${POD_UID}:${POD_UID}::/tmp:/usr/sbin/nologin
code:x:${CODE_UID}:${CODE_UID}::/tmp:/usr/sbin/nologin
nobody:x:65534:65534::/:/usr/sbin/nologin
`,
  group: `root:x:0:
pod:x:${POD_UID}:
code:x:${CODE_UID}:
nogroup:x:65534:
`,
  hosts: "127.0.0.1 localhost\n::1 localhost\n127.0.1.1 pod\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  hostname: "pod\n",
};

/**
 * Writes the files of /etc that differ from the system's, and returns where to mount them. They include the operator's
 * host names, because this machine may resolve them differently from the pod.
 */
export function writeSettings(folder: string, hasNetwork: boolean, allowed: readonly AllowedHost[]): Sight[] {
  const hosts = allowed.flatMap(({ addresses, name }) =>
    addresses.filter((address) => address !== name).map((address) => `${address} ${name}\n`),
  );
  const files = {
    ...SETTINGS,
    hosts: SETTINGS.hosts + hosts.join(""),
    "resolv.conf": hasNetwork ? `nameserver ${RESOLVER}\n` : "",
  };
  return Object.entries(files).map(([name, text]) => {
    return { source: writeShown(folder, name, text), target: `/etc/${name}`, mode: "read" };
  });
}

/**
 * Writes a world-readable file regardless of the umask and returns its path. Replaces it atomically, because concurrent
 * starts write files of the same name.
 */
export function writeShown(folder: string, name: string, content: string | Buffer): string {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  const path = join(folder, name);
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  writeFileSync(draft, content, { flag: "wx" });
  chmodSync(draft, 0o644);
  renameSync(draft, path);
  return path;
}

/** Lines of a mount table that bind each folder to its numbered folder below `mountPoint`. */
export function bindTable(folders: readonly string[], mountPoint: string): string {
  const escapePath = (path: string) =>
    path.replace(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return folders.map((path, at) => `${escapePath(path)} ${escapePath(mountPoint)}/${at} none rbind 0 0\n`).join("");
}
