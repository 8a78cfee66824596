import { quoteLiteral } from "../sql/quote.ts";
import { raiseWhere } from "../sql/raise-where.ts";
import {
  type Argument,
  constant,
  constantText,
  type FormCall,
  type Forms,
  type SqlTemplate,
  smallInt,
} from "./form.ts";
import { formatForm } from "./format-form.ts";

/** The characters that str.strip() removes: those of str.isspace(). */
const WHITESPACE = codePoints(
  [9, 13],
  [28, 32],
  0x85,
  0xa0,
  0x1680,
  [0x2000, 0x200a],
  0x2028,
  0x2029,
  0x202f,
  0x205f,
  0x3000,
);
/** Longer padding or repetition is left to Python, whose memory is limited. */
const MAX_REPEAT = 1_000;

const first = (build: (text: string) => string): Readonly<Record<string, SqlTemplate>> => ({
  string: ({ args: [text], kwargs }) => (Object.keys(kwargs).length === 0 ? build(text?.sql ?? "") : undefined),
});

const strip =
  (name: "btrim" | "ltrim" | "rtrim"): SqlTemplate =>
  ({ args: [text], kwargs: { chars } }) => {
    const whitespace = quoteLiteral(WHITESPACE);
    if (chars === undefined || constant(chars) === null) return `${name}(${text?.sql}, ${whitespace})`;
    return `${name}(${text?.sql}, coalesce(${chars.sql}, ${whitespace}))`;
  };

const replace: SqlTemplate = ({ args: [text, from, to], kwargs: { n } }) => {
  if (n !== undefined && constant(n) !== null) return undefined;
  const replaced = `replace(${text?.sql}, ${from?.sql}, ${to?.sql})`;
  const literal = constantText(from);
  if (literal !== undefined) return literal === "" ? undefined : replaced;
  // For an empty search text, Python inserts the replacement around every character, and SQL does nothing.
  return raiseWhere(`(${from?.sql} = '')`, `length(${from?.sql})`, "text", replaced);
};

const contains: SqlTemplate = ({ args: [text, part], kwargs }) => {
  const isCase = kwargs.case === undefined ? true : constant(kwargs.case);
  if (isCase === true) return `(strpos(${text?.sql}, ${part?.sql}) > 0)`;
  return isCase === false ? `(strpos(lower(${text?.sql}), lower(${part?.sql})) > 0)` : undefined;
};

const pad = ({ args: [text, width], kwargs: { fillchar } }: FormCall, name: "lpad" | "rpad"): string | undefined => {
  const count = smallInt(width, MAX_REPEAT);
  const fill = fillchar === undefined ? " " : constantText(fillchar);
  if (count === undefined || fill === undefined || [...fill].length !== 1) return undefined;
  return `${name}(${text?.sql}, greatest(length(${text?.sql}), ${count}), ${quoteLiteral(fill)})`;
};

/** str.center: with an odd number of spaces, the larger half is on the left if the width is odd too. */
const center: SqlTemplate = ({ args: [text, width], kwargs: { fillchar } }) => {
  const count = smallInt(width, MAX_REPEAT);
  const fill = fillchar === undefined ? " " : constantText(fillchar);
  if (count === undefined || fill === undefined || [...fill].length !== 1) return undefined;
  const length = `length(${text?.sql})`;
  const blanks = `greatest(${count} - ${length}, 0)`;
  const left = `(${blanks} / 2 + (${blanks} & ${Math.abs(count % 2)}))`;
  return `rpad(lpad(${text?.sql}, ${length} + ${left}, ${quoteLiteral(fill)}), ${length} + ${blanks}, ${quoteLiteral(fill)})`;
};

const padSide: SqlTemplate = (call) => {
  const side = call.kwargs.side === undefined ? "left" : constantText(call.kwargs.side);
  if (side === "left") return pad(call, "lpad");
  if (side === "both") return center(call);
  return side === "right" ? pad(call, "rpad") : undefined;
};

/** str.zfill: the zeros follow a sign. */
const zfill: SqlTemplate = ({ args: [text, width] }) => {
  const count = smallInt(width, MAX_REPEAT);
  if (count === undefined) return undefined;
  const filled = (part: string, length: string) => `lpad(${part}, ${length}, '0')`;
  const sign = `left(${text?.sql}, 1)`;
  const length = `greatest(length(${text?.sql}), ${count})`;
  return (
    `CASE WHEN ${sign} IN ('+', '-') THEN ${sign} || ${filled(`substr(${text?.sql}, 2)`, `${length} - 1`)}` +
    ` ELSE ${filled(text?.sql ?? "", length)} END`
  );
};

/** The text before `start`, the replacement, and the text from `stop` on; both are constants. */
const sliceReplace: SqlTemplate = ({ args: [text], kwargs: { start, stop, repl } }) => {
  const from = bound(start);
  const to = bound(stop);
  if (from === undefined || to === undefined) return undefined;
  const head = `left(${text?.sql}, ${from ?? 0})`;
  const middle = repl === undefined ? "''" : `coalesce(${repl.sql}, '')`;
  if (to === null) return `(${head} || ${middle} || '')`;
  return `(${head} || ${middle} || ${to < 0 ? `right(${text?.sql}, ${-to})` : `substr(${text?.sql}, ${to + 1})`})`;
};

/** `text[start:stop]` for constants: cuts the tail first, then the head. */
const slice: SqlTemplate = ({ args: [text], kwargs: { start, stop, step } }) => {
  if (step !== undefined && constant(step) !== null && smallInt(step) !== 1) return undefined;
  const from = bound(start);
  const to = bound(stop);
  if (from === undefined || to === undefined) return undefined;
  let sql = text?.sql ?? "";
  if (from !== null && from < 0) {
    // A stop counted from the start and a start counted from the end have no simple common form.
    if (to !== null && to >= 0) return undefined;
    sql = `right(${sql}, ${-from})`;
    return to === null ? sql : `left(${sql}, ${to})`;
  }
  if (to !== null) sql = `left(${sql}, ${to})`;
  return from === null || from === 0 ? `substr(${sql}, 1)` : `substr(${sql}, ${from + 1})`;
};

const find: SqlTemplate = ({ args: [text, part], kwargs }) =>
  Object.keys(kwargs).length === 0 ? `(strpos(${text?.sql}, ${part?.sql}) - 1)::int8` : undefined;

/** Like find, but a missing text raises, and Python then reports the error. */
const index: SqlTemplate = ({ args: [text, part], kwargs }) => {
  const position = `strpos(${text?.sql}, ${part?.sql})`;
  if (Object.keys(kwargs).length > 0) return undefined;
  return raiseWhere(`(${position} = 0)`, position, "int8", `(${position} - 1)::int8`);
};

const removePrefix: SqlTemplate = ({ args: [text, prefix] }) =>
  `substr(${text?.sql}, 1 + length(${prefix?.sql}) * starts_with(${text?.sql}, ${prefix?.sql})::int4)`;

const removeSuffix: SqlTemplate = ({ args: [text, suffix] }) => {
  const cut = `length(${suffix?.sql}) * ${endsWith(text, suffix)}::int4`;
  return `left(${text?.sql}, length(${text?.sql}) - ${cut})`;
};

/** str.capitalize: the first character in title case, the rest as in lower(), which may depend on the first. */
const capitalize = (text: string) =>
  `(initcap(left(${text}, 1)) || substr(lower(${text}), length(lower(left(${text}, 1))) + 1))`;

const repeat: SqlTemplate = ({ args: [text, n] }) => {
  const count = smallInt(n, MAX_REPEAT);
  return count === undefined ? undefined : `repeat(${text?.sql}, ${count})`;
};

/** Functions of text. Others have no form that agrees with Python on every text. */
export const STRING_FORMS: Forms = {
  "op.mul": {
    "string,int": repeat,
    "int,string": ({ args: [n, text], ...rest }) => repeat({ args: [text as Argument, n as Argument], ...rest }),
  },
  "string.upper": first((text) => `upper(${text})`),
  "string.lower": first((text) => `lower(${text})`),
  "string.casefold": first((text) => `casefold(${text})`),
  "string.capitalize": first(capitalize),
  "string.reverse": first((text) => `reverse(${text})`),
  "string.len": first((text) => `length(${text})::int8`),
  "string.isascii": first((text) => `(octet_length(${text}) = length(${text}))`),
  "string.strip": { string: strip("btrim") },
  "string.lstrip": { string: strip("ltrim") },
  "string.rstrip": { string: strip("rtrim") },
  "string.contains": { "string,string": contains },
  "string.startswith": { "string,string": ({ args: [text, part] }) => `starts_with(${text?.sql}, ${part?.sql})` },
  "string.endswith": { "string,string": ({ args: [text, part] }) => endsWith(text, part) },
  "string.removeprefix": { "string,string": removePrefix },
  "string.removesuffix": { "string,string": removeSuffix },
  "string.replace": { "string,string,string": replace },
  "string.find": { "string,string": find },
  "string.index": { "string,string": index },
  "string.isspace": first((text) => `(${text} <> '' AND btrim(${text}, ${quoteLiteral(WHITESPACE)}) = '')`),
  "string.slice": { string: slice },
  "string.slice_replace": { string: sliceReplace },
  "string.zfill": { "string,int": zfill },
  "string.center": { "string,int": center },
  "string.repeat": { "string,int": repeat },
  "string.ljust": { "string,int": (call) => pad(call, "rpad") },
  "string.rjust": { "string,int": (call) => pad(call, "lpad") },
  "string.pad": { "string,int": padSide },
  "string.format": { "*": formatForm },
};

function endsWith(text: Argument | undefined, part: Argument | undefined): string {
  return `(right(${text?.sql}, length(${part?.sql})) = ${part?.sql})`;
}

/** A constant bound of a slice: a number, null when open, undefined when it is not a constant. */
function bound(argument: Argument | undefined): number | null | undefined {
  if (argument === undefined || constant(argument) === null) return null;
  return smallInt(argument, 1_000_000_000);
}

function codePoints(...ranges: (number | [number, number])[]): string {
  let text = "";
  for (const range of ranges) {
    const [from, to] = typeof range === "number" ? [range, range] : range;
    for (let code = from; code <= to; code++) text += String.fromCodePoint(code);
  }
  return text;
}
