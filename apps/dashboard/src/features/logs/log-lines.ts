import type { LogLine } from "@appdb/contract/routes/control-databases";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const satisfies readonly LogLine["level"][];
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A displayed line. `index` increases by one for each line, independent of the log's own numbers. */
export interface ShownLine extends LogLine {
  readonly index: number;
}

/** More than people read on a page. The download has all lines. */
export const MAX_LINES = 5_000;

/** Appends new lines, and drops the oldest above the maximum. */
export function addLines(lines: readonly ShownLine[], came: readonly LogLine[]): readonly ShownLine[] {
  let index = lines.at(-1)?.index ?? 0;
  const added = came.map((line) => ({ ...line, line: withoutControls(line.line), index: ++index }));
  return [...lines, ...added].slice(-MAX_LINES);
}

/** The lines of a level or above that contain the text in any case. */
export function filterLines(lines: readonly ShownLine[], level: LogLevel, search: string): readonly ShownLine[] {
  const min = LOG_LEVELS.indexOf(level);
  const needle = search.toLowerCase();
  if (min === 0 && needle === "") return lines;
  return lines.filter(
    (line) => LOG_LEVELS.indexOf(line.level) >= min && (needle === "" || line.line.toLowerCase().includes(needle)),
  );
}

/** Groups of 100 lines by position. A group stays unchanged when lines arrive after it. */
export function groupLines(lines: readonly ShownLine[]): readonly (readonly ShownLine[])[] {
  const groups: ShownLine[][] = [];
  let number = -1;
  for (const line of lines) {
    const of = Math.floor(line.index / 100);
    if (of !== number) groups.push([]);
    number = of;
    groups.at(-1)?.push(line);
  }
  return groups;
}

/** A line as text: time, level, message. */
export function printLine({ at, level, line }: LogLine): string {
  return `${at} ${level.padEnd(5)} ${line}`;
}

// terminal colours, which programs also write without a terminal
// biome-ignore lint/suspicious/noControlCharactersInRegex: they start with a control character
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes them
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

function withoutControls(line: string): string {
  return line.replace(ESCAPES, "").replace(CONTROLS, "");
}
