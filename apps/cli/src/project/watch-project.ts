import { fstatSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { watch } from "chokidar";
import { selectFiles } from "./select-files.ts";
import { createSelector } from "./selection.ts";

/** Editors write a file in several steps. A change counts after this much silence. */
const QUIET_MS = 60;
/** Descriptors of this command's output. */
const OUTPUTS = [1, 2];
/** Folders that never contain a project's own files. Other files that git ignores are filtered after a change. */
const NEVER = new Set([".git", ".venv", "venv", "node_modules", "__pycache__"]);

export interface ProjectWatch extends AsyncDisposable {
  /**
   * Resolves with the sorted paths of files changed since the last call, relative to the root. Empty once the signal
   * aborts.
   */
  next(signal: AbortSignal): Promise<string[]>;
}

/**
 * Whether this command's own output goes to the file, as in `cli dev app.py main > dev.log`: each line would count as a
 * change.
 */
function isOwnOutput(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return false;
  return OUTPUTS.some((fd) => {
    try {
      const { dev, ino } = fstatSync(fd);
      return dev === found.dev && ino === found.ino;
    } catch {
      // closed: nothing is written there
      return false;
    }
  });
}

/** Watches the project files that git does not ignore, which may belong to an application. */
export async function watchProject(root: string): Promise<ProjectWatch> {
  const selector = createSelector({});
  // includes removed files, because removals are reported late
  const known = new Set<string>();
  const look = () => {
    for (const { path } of selectFiles(root, selector).files) known.add(path);
  };
  look();
  const changed = new Set<string>();
  let wake = () => {};
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(root, {
    ignoreInitial: true,
    followSymlinks: false,
    ignored: (path) =>
      relative(root, path)
        .split(sep)
        .some((part) => NEVER.has(part)),
  });
  watcher.on("all", (_event, path) => {
    changed.add(relative(root, path).split(sep).join("/"));
    clearTimeout(timer);
    timer = setTimeout(() => wake(), QUIET_MS);
  });
  // a folder disappeared, or the system's limit is reached; the other watches continue
  watcher.on("error", () => wake());
  await new Promise<void>((resolve) => watcher.once("ready", () => resolve()));

  const take = (): string[] => {
    look();
    const paths = [...changed].filter((path) => known.has(path) && !isOwnOutput(join(root, path))).sort();
    changed.clear();
    return paths;
  };
  return {
    async next(signal) {
      while (!signal.aborted) {
        if (changed.size === 0) {
          await new Promise<void>((resolve) => {
            wake = () => {
              signal.removeEventListener("abort", wake);
              resolve();
            };
            signal.addEventListener("abort", wake);
          });
        }
        const paths = take();
        if (paths.length > 0) return paths;
      }
      return [];
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await watcher.close();
    },
  };
}
