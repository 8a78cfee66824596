import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { posix, win32 } from "node:path";
import { appError } from "@appdb/contract/errors";

const LAUNCHER_TIMEOUT_MS = 10_000;
const PRINT_PATH = "import sys; print(sys.executable)";

/** Access to the machine, replaceable in tests. */
export interface PythonSearch {
  readonly platform: NodeJS.Platform;
  isThere(path: string): boolean;
  /** Output of a program; undefined when it fails. */
  ask(program: string, args: readonly string[]): string | undefined;
}

/** Default name of a system Python. On Windows, `python3` is only a link to its app store. */
export function defaultPythonName(platform: NodeJS.Platform = process.platform): string {
  return platform === "win32" ? "python" : "python3";
}

/**
 * Resolves the interpreter that a user named: a path, a program on the PATH, or a version such as `3.12`. Windows finds
 * versions with its launcher `py` when no program has that name.
 * @throws python_not_found
 */
export function findPython(
  text: string,
  env: Readonly<Record<string, string>>,
  search: PythonSearch = ownSearch(env),
): string {
  const { delimiter, isAbsolute, join, resolve } = search.platform === "win32" ? win32 : posix;
  if (isAbsolute(text) || text.includes("/") || text.includes("\\")) return resolve(text);
  const isVersion = /^\d+(\.\d+)*$/.test(text);
  const program = isVersion ? `python${text}` : text;
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const onPath = (name: string) => folders.map((folder) => join(folder, name)).find((path) => search.isThere(path));
  const names = search.platform === "win32" ? [`${program}.exe`, program] : [program];
  const found = names.map(onPath).find((path) => path !== undefined);
  if (found !== undefined) return found;
  const launcher = search.platform === "win32" && isVersion ? onPath("py.exe") : undefined;
  const launched = launcher && search.ask(launcher, [`-${text}`, "-c", PRINT_PATH])?.trim();
  if (launched) return launched;
  const example = search.platform === "win32" ? "C:\\path\\to\\python.exe" : "/path/to/python3";
  throw appError("python_not_found", {
    detail: `No ${program} on the PATH.`,
    hint: `Give the full path: --python ${example}`,
  });
}

function ownSearch(env: Readonly<Record<string, string>>): PythonSearch {
  return {
    platform: process.platform,
    isThere: existsSync,
    ask(program, args) {
      try {
        const stdio: ["ignore", "pipe", "ignore"] = ["ignore", "pipe", "ignore"];
        return execFileSync(program, args, {
          env: { ...env },
          stdio,
          timeout: LAUNCHER_TIMEOUT_MS,
          windowsHide: true,
          encoding: "utf8",
        });
      } catch {
        // the launcher lacks that version; the caller reports it
        return undefined;
      }
    },
  };
}
