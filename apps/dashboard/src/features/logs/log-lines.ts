import type { LogLine } from "@appdb/contract/routes/control-databases";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const satisfies readonly LogLine["level"][];
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A line as it is shown; `place` grows by one a line, whatever the log's own numbers are. */
export interface ShownLine extends LogLine {
  readonly place: number;
}

/** More than anybody reads in a page; a log is downloaded in full. */
export const MAX_LINES = 5_000;

/** The lines with those that came, the oldest left out where there are too many. */
export function addLines(lines: readonly ShownLine[], came: readonly LogLine[]): readonly ShownLine[] {
  let place = lines.at(-1)?.place ?? 0;
  const added = came.map((line) => ({ ...line, line: withoutControls(line.line), place: ++place }));
  return [...lines, ...added].slice(-MAX_LINES);
}

/** Those of the level or above that have the text, in whatever case. */
export function filterLines(lines: readonly ShownLine[], level: LogLevel, search: string): readonly ShownLine[] {
  const least = LOG_LEVELS.indexOf(level);
  const wanted = search.toLowerCase();
  if (least === 0 && wanted === "") return lines;
  return lines.filter(
    (line) => LOG_LEVELS.indexOf(line.level) >= least && (wanted === "" || line.line.toLowerCase().includes(wanted)),
  );
}

/** Lines in groups of 100 by their places: a group stays the same while lines come behind it. */
export function groupLines(lines: readonly ShownLine[]): readonly (readonly ShownLine[])[] {
  const groups: ShownLine[][] = [];
  let number = -1;
  for (const line of lines) {
    const of = Math.floor(line.place / 100);
    if (of !== number) groups.push([]);
    number = of;
    groups.at(-1)?.push(line);
  }
  return groups;
}

/** A line as text: when, how serious, what. */
export function printLine({ at, level, line }: LogLine): string {
  return `${at} ${level.padEnd(5)} ${line}`;
}

// colours of terminals, which programs write although nobody said that there is one
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they begin with
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is left out
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

function withoutControls(line: string): string {
  return line.replace(ESCAPES, "").replace(CONTROLS, "");
}
