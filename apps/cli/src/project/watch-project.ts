import { fstatSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { watch } from "chokidar";
import { selectFiles } from "./select-files.ts";
import { createSelector } from "./selection.ts";

/** Editors write a file in several steps; so long nothing may happen before a change counts. */
const QUIET_MS = 60;
/** What this command prints goes there. */
const OUTPUTS = [1, 2];
/** What no project's own files lie in; the rest of what git ignores is told apart after it changed. */
const NEVER = new Set([".git", ".venv", "venv", "node_modules", "__pycache__"]);

export interface ProjectWatch extends AsyncDisposable {
  /** Resolves with the paths of files that changed since the last time, from the root, sorted; with none once the signal aborts. */
  next(signal: AbortSignal): Promise<string[]>;
}

/** Whether this command writes there itself, as in `cli dev app.py main > dev.log`: each line would be a change. */
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

/** Watches the files of a project that an application may consist of: those that git does not ignore. */
export async function watchProject(root: string): Promise<ProjectWatch> {
  const selector = createSelector({});
  // also what is gone by now: that it went is told later than it happened
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
  // a folder that went away meanwhile, or one too many for the system: what is watched goes on being watched
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
