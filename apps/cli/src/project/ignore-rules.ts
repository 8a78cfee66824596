import ignore, { type Ignore } from "ignore";

/** Patterns in git's syntax from one or more files. Later patterns override earlier ones. */
export interface IgnoreRules {
  /**
   * Whether the patterns match a path or one of its parents. The path starts at the root and is separated by `/`; a
   * folder's ends with `/`.
   */
  match(path: string): boolean;
  /** These rules followed by those of a file in `folder` (relative to the root; empty for the root itself). */
  with(folder: string, lines: readonly string[]): IgnoreRules;
}

/** Rules without patterns. */
export function noRules(): IgnoreRules {
  return rulesOf(undefined);
}

function rulesOf(patterns: Ignore | undefined): IgnoreRules {
  return {
    match: (path) => patterns?.ignores(path) ?? false,
    with: (folder, lines) => {
      // The same on every machine: otherwise a project could never be up to date for all of them.
      const more = ignore({ ignorecase: false });
      if (patterns !== undefined) more.add(patterns);
      for (const line of lines) {
        const rebased = rebasePattern(folder, line);
        if (rebased !== undefined) more.add({ pattern: rebased });
      }
      return rulesOf(more);
    },
  };
}

/** Lines of a pattern file. */
export function patternLines(text: string): string[] {
  return text.replace(/^\uFEFF/, "").split(/\r?\n/);
}

/** Converts a pattern of a file in a folder to a pattern of the root. Undefined for a comment or an empty line. */
export function rebasePattern(folder: string, line: string): string | undefined {
  if (line.trim() === "" || line.startsWith("#")) return undefined;
  const pattern = positiveClasses(stripSpaces(line));
  if (folder === "") return pattern;
  const sign = pattern.startsWith("!") ? "!" : "";
  const body = pattern.slice(sign.length).replace(/^\\([!#])/, "$1");
  const prefix = escapePattern(folder);
  // A slash before the end binds a pattern to its folder; otherwise it matches at any depth.
  const isBound = /\/(?=.*[^\s/])/.test(body) || body.startsWith("/");
  return `${sign}/${prefix}/${isBound ? body.replace(/^\//, "") : `**/${body}`}`;
}

/** Trailing spaces do not belong to a pattern, unless a backslash precedes them. */
function stripSpaces(line: string): string {
  let pattern = line;
  while (pattern.endsWith(" ") && !pattern.endsWith("\\ ")) pattern = pattern.slice(0, -1);
  return pattern;
}

/** The library does not support negated classes: `[!a]` becomes a class of all other characters. */
function positiveClasses(pattern: string): string {
  return pattern.replace(/(^|[^\\])\[[!^]([^\\[\]/]+)\]/g, (whole, before: string, body: string) => {
    const taken = [[47, 47], ...classRanges(body)].sort(([one = 0], [other = 0]) => one - other);
    const ranges: string[] = [];
    let from = 1;
    for (const [first = 0, last = 0] of [...taken, [0x10000, 0x10000]]) {
      if (first > from) ranges.push(`${String.fromCharCode(from)}-${String.fromCharCode(first - 1)}`);
      from = Math.max(from, last + 1);
    }
    // a bound that is a metacharacter cannot be written there
    return ranges.some((range) => /[*?[\]\\^]/.test(range)) ? whole : `${before}[${ranges.join("")}]`;
  });
}

function classRanges(body: string): number[][] {
  return [...body.matchAll(/(.)-(.)|./gs)].map(([one, first, last]) =>
    first === undefined || last === undefined
      ? [one.charCodeAt(0), one.charCodeAt(0)]
      : [first.charCodeAt(0), last.charCodeAt(0)],
  );
}

/** Escapes a path to a pattern that matches only this path. */
export function escapePattern(path: string): string {
  return path.replace(/[\\*?[\]!# ]/g, "\\$&");
}
