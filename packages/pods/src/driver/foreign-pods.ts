import { isOtherFolder } from "@appdb/system/files/is-other-folder";
import { readRun } from "./pod-run.ts";
import { listPodRecords } from "./pod-state.ts";

/**
 * A running pod in the driver's folder that writes its log into another home: the folder is part of a copy of that home.
 * Also found if no version that records the place of a home ran on the original.
 */
export function findPodOfOther(
  folder: string,
  home: string,
): { readonly original: string; readonly pid: number } | undefined {
  for (const record of listPodRecords(folder)) {
    const run = readRun(folder, record);
    const original = homeOf(record.log_folder);
    if (run.state !== "running" || run.program === undefined || original === undefined) continue;
    if (isOtherFolder(original, home)) return { original, pid: run.program.pid };
  }
  return undefined;
}

/** The home of a log folder: the path before `server`. */
function homeOf(logFolder: string): string | undefined {
  const at = logFolder.lastIndexOf("/server/");
  return at <= 0 ? undefined : logFolder.slice(0, at);
}
