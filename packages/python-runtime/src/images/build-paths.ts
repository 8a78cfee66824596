import { join } from "node:path";

export interface BuildPaths {
  readonly draft: string;
  /** Undefined for a step without a cache. */
  readonly cache_folder?: string;
  readonly uv: string;
  /** Prefix of the interpreter. System interpreters have public paths. */
  readonly python_prefix: string;
}

/** Folders of a draft, removed when the build ends. */
export const BUILD_PARTS = { project: "build/project", home: "build/home", scratch: "build/scratch" } as const;
const SYSTEM_PREFIXES = ["/", "/usr", "/usr/local"];
/** End of a path that must match completely. */
const END = String.raw`(?![\w.-])`;

/**
 * Replaces the server's paths by the names that the project's author knows. Server paths are private and change with
 * each build.
 */
export function nameBuildPaths(paths: BuildPaths): (line: string) => string {
  const { cache_folder: cacheFolder, draft, python_prefix: pythonPrefix, uv } = paths;
  const names: (readonly [path: string, name: string])[] = [
    [join(draft, BUILD_PARTS.project), "."],
    [join(draft, BUILD_PARTS.home), "<home>"],
    [join(draft, BUILD_PARTS.scratch), "<scratch>"],
    [draft, "<image>"],
    ...(cacheFolder === undefined ? [] : [[cacheFolder, "<cache>"] as const]),
    [uv, "uv"],
    ...(SYSTEM_PREFIXES.includes(pythonPrefix) ? [] : [[pythonPrefix, "<python>"] as const]),
  ];
  // uv prints local sources as URLs
  const written = names.flatMap(([path, name]) =>
    [...new Set([path, encodeURI(path)])].map((text) => [text, name] as const),
  );
  const patterns = written.map(
    ([path, name]) => [new RegExp(path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + END, "g"), name] as const,
  );
  return (line) => patterns.reduce((text, [pattern, name]) => text.replace(pattern, () => name), line);
}
