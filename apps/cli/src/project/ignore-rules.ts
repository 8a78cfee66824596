import ignore, { type Ignore } from "ignore";

/** Patterns in git's syntax, of one or several files; a later pattern wins over an earlier one. */
export interface IgnoreRules {
  /** Whether a path is named, itself or by a folder above it. From the root, parts divided by `/`; a folder's ends with `/`. */
  match(path: string): boolean;
  /** These rules and, behind them, those of a file that lies in `folder` (from the root; empty for the root itself). */
  with(folder: string, lines: readonly string[]): IgnoreRules;
}

/** No pattern at all. */
export function noRules(): IgnoreRules {
  return rulesOf(undefined);
}

function rulesOf(patterns: Ignore | undefined): IgnoreRules {
  return {
    match: (path) => patterns?.ignores(path) ?? false,
    with: (folder, lines) => {
      // The same everywhere: a project whose files depend on the machine that sends them would never be up to date.
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

/** The lines of a file of patterns. */
export function patternLines(text: string): string[] {
  return text.replace(/^\uFEFF/, "").split(/\r?\n/);
}

/** A pattern of a file in a folder as a pattern of the root; undefined for a comment or an empty line. */
export function rebasePattern(folder: string, line: string): string | undefined {
  if (line.trim() === "" || line.startsWith("#")) return undefined;
  const pattern = positiveClasses(stripSpaces(line));
  if (folder === "") return pattern;
  const sign = pattern.startsWith("!") ? "!" : "";
  const body = pattern.slice(sign.length).replace(/^\\([!#])/, "$1");
  const place = escapePattern(folder);
  // A slash before the end binds a pattern to its own folder; without one it holds at any depth.
  const isBound = /\/(?=.*[^\s/])/.test(body) || body.startsWith("/");
  return `${sign}/${place}/${isBound ? body.replace(/^\//, "") : `**/${body}`}`;
}

/** Spaces at the end are no part of a pattern, unless a backslash stands before. */
function stripSpaces(line: string): string {
  let pattern = line;
  while (pattern.endsWith(" ") && !pattern.endsWith("\\ ")) pattern = pattern.slice(0, -1);
  return pattern;
}

/** The library knows no negated classes: `[!a]` becomes a class of all other letters. */
function positiveClasses(pattern: string): string {
  return pattern.replace(/(^|[^\\])\[[!^]([^\\[\]/]+)\]/g, (whole, before: string, body: string) => {
    const taken = [[47, 47], ...classRanges(body)].sort(([one = 0], [other = 0]) => one - other);
    const ranges: string[] = [];
    let from = 1;
    for (const [first = 0, last = 0] of [...taken, [0x10000, 0x10000]]) {
      if (first > from) ranges.push(`${String.fromCharCode(from)}-${String.fromCharCode(first - 1)}`);
      from = Math.max(from, last + 1);
    }
    // an end that means something in a pattern cannot be written there
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

/** A path as a pattern that matches it and nothing else. */
export function escapePattern(path: string): string {
  return path.replace(/[\\*?[\]!# ]/g, "\\$&");
}
