import { join } from "node:path";
import { optionsText } from "@appdb/system/processes/bubblewrap-options";
import type { PlacedPod } from "../driver/local-pods.ts";
import type { PodSpec } from "../driver/pod-driver.ts";
import { codeLimits } from "./sandbox-bounds.ts";
import { writeShown } from "./sandbox-files.ts";
import { boxOptions, CODE_UID, type Sight, systemPrograms } from "./sandbox-layout.ts";
import { type FilterMachine, seccompFilter } from "./seccomp-filter.ts";

/** Folder in which a pod finds the files that its driver made for the application's code sandbox. */
export const PLACE = "/.pod";
/** Share of the memory that a temporary folder may use. */
const TEMPORARY_SHARE = 0.5;
const BYTES_PER_MB = 1024 * 1024;

/** Prepares the files from which a pod makes the code sandbox. They are written into `shown` and visible at `PLACE`. */
export function codeMounts(
  machine: FilterMachine,
  shown: string,
  { folders, limits }: Pick<PlacedPod, "folders"> & Pick<PodSpec, "limits">,
): Sight[] {
  const codeFolders = folders.filter(({ mode }) => mode === "code").map(({ path }) => path);
  const parts = folders.flatMap(({ code_parts: ofFolder = [], path }) =>
    ofFolder.map(({ access, name }) => ({ path: join(path, name), access })),
  );
  const options = boxOptions({
    uid: CODE_UID,
    programs: systemPrograms(),
    mounts: [
      ...["/etc", ...codeFolders].map((path): Sight => ({ source: path, target: path, mode: "read" })),
      ...parts.map(({ access, path }): Sight => ({ source: path, target: path, mode: access })),
    ],
    temporary: { size_bytes: Math.floor(codeLimits(limits).memory_mb * TEMPORARY_SHARE * BYTES_PER_MB) },
    network: "given",
    is_outer: false,
    cwd: null,
    env: null,
  });
  const files = { "code.options": optionsText(options), "code.filter": seccompFilter(machine, "code") };
  return Object.entries(files).map(([name, content]) => {
    return { source: writeShown(shown, name, content), target: `${PLACE}/${name}`, mode: "read" };
  });
}
