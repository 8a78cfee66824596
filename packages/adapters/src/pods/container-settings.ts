import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PodFolder } from "./pod-driver.ts";
import { writeShown } from "./sandbox-files.ts";
import { type Sight, SYSTEM_FOLDERS, systemSettings } from "./sandbox-layout.ts";

/** The system's programs and tables, and the names of users and of services of names as a container has them: read-only. */
export function systemSights(shown: string, uid: number): Sight[] {
  const folders = ["/usr", ...SYSTEM_FOLDERS].filter((path) => existsSync(path));
  const files = {
    passwd: `root:x:0:0::/:/usr/sbin/nologin\npod:x:${uid}:${uid}::/tmp:/usr/sbin/nologin\n`,
    group: `root:x:0:\npod:x:${uid}:\n`,
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  };
  return [
    ...folders.map((path): Sight => ({ source: path, target: path, mode: "read" })),
    ...systemSettings(),
    ...Object.entries(files).map(([name, text]): Sight => {
      return { source: writeShown(shown, name, text), target: join("/etc", name), mode: "read" };
    }),
  ];
}

/** Folders as a container sees them: under their own paths. */
export function toSights(folders: readonly PodFolder[]): Sight[] {
  return folders.map(({ mode, path }) => ({ source: path, target: path, mode: mode === "write" ? mode : "read" }));
}
