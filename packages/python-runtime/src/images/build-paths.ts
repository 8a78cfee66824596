import { join } from "node:path";

export interface BuildPaths {
  readonly draft: string;
  /** None of a step that needs no cache. */
  readonly cache_folder?: string;
  readonly uv: string;
  /** Of the interpreter; one of the system has its paths, which are no secret. */
  readonly python_prefix: string;
}

/** Of a draft, gone when the build ends. */
export const BUILD_PARTS = { project: "build/project", home: "build/home", scratch: "build/scratch" } as const;
const SYSTEM_PREFIXES = ["/", "/usr", "/usr/local"];
/** What may come behind a place that is named whole. */
const END = String.raw`(?![\w.-])`;

/** Names files as whoever sent the project knows them: where the server keeps things is not theirs to know, and changes with each build. */
export function nameBuildPaths(places: BuildPaths): (line: string) => string {
  const { cache_folder: cacheFolder, draft, python_prefix: pythonPrefix, uv } = places;
  const names: (readonly [path: string, name: string])[] = [
    [join(draft, BUILD_PARTS.project), "."],
    [join(draft, BUILD_PARTS.home), "<home>"],
    [join(draft, BUILD_PARTS.scratch), "<scratch>"],
    [draft, "<image>"],
    ...(cacheFolder === undefined ? [] : [[cacheFolder, "<cache>"] as const]),
    [uv, "uv"],
    ...(SYSTEM_PREFIXES.includes(pythonPrefix) ? [] : [[pythonPrefix, "<python>"] as const]),
  ];
  // uv names what it installs from by URLs
  const written = names.flatMap(([path, name]) =>
    [...new Set([path, encodeURI(path)])].map((text) => [text, name] as const),
  );
  const patterns = written.map(
    ([path, name]) => [new RegExp(path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + END, "g"), name] as const,
  );
  return (line) => patterns.reduce((text, [pattern, name]) => text.replace(pattern, () => name), line);
}
