import { optionsText } from "@appdb/system/processes/bubblewrap-options";
import type { PlacedPod } from "../driver/local-pods.ts";
import type { PodSpec } from "../driver/pod-driver.ts";
import { codeLimits } from "./sandbox-bounds.ts";
import { writeShown } from "./sandbox-files.ts";
import { boxOptions, CODE_UID, type Sight, systemPrograms } from "./sandbox-layout.ts";
import { type FilterMachine, seccompFilter } from "./seccomp-filter.ts";

/** Where a pod finds what its driver made for it: what the sandbox of the application's code is made from. */
export const PLACE = "/.pod";
/** Of its memory, what may lie in a temporary folder. */
const TEMPORARY_SHARE = 0.5;
const BYTES_PER_MB = 1024 * 1024;

/** What a pod makes the sandbox of the application's code from; written into `shown`, and seen at `PLACE`. */
export function codeMounts(
  machine: FilterMachine,
  shown: string,
  { folders, limits }: Pick<PlacedPod, "folders"> & Pick<PodSpec, "limits">,
): Sight[] {
  const codeFolders = folders.filter(({ mode }) => mode === "code").map(({ path }) => path);
  const options = boxOptions({
    uid: CODE_UID,
    programs: systemPrograms(),
    sights: ["/etc", ...codeFolders].map((path) => ({ source: path, target: path, mode: "read" })),
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
