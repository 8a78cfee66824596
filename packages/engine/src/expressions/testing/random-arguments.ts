import type { Expr } from "@appdb/contract/expressions";
import type { TypeKind } from "@appdb/contract/types";
import type { Random } from "./random.ts";
import { sampleType } from "./sample-values.ts";
import type { Signature } from "./signatures.ts";

/** Changes positional arguments where a form restricts them, and adds named arguments. */
type Arguments = (call: { readonly args: Expr[]; readonly signature: Signature }, tools: Tools) => void;

interface Tools {
  /** Adds a named argument in half of the calls. */
  maybe(name: string, make: () => Expr): void;
  pick<T>(values: readonly T[]): T;
  int(from: number, to: number): Expr;
  text(value: string): Expr;
  tree(kind: TypeKind): Expr;
}

const NULL_INT = literal("int", null);
const FILLCHARS = [" ", "x", "é", "😀", "'"];
const DATE_FORMATS = ["%Y-%m-%d", "%d.%m.%y", "day %j of %Y, 100%%", "%H%M%S %f", "%A", "%", "plain", "%Y'\\\"%m"];

const width: Arguments = ({ args }, { int, maybe, pick, text }) => {
  args[1] = int(-2, 9);
  maybe("fillchar", () => text(pick(FILLCHARS)));
};

const strip: Arguments = (_, { maybe, pick, text, tree }) =>
  maybe("chars", () => pick([literal("string", null), text("aX x"), tree("string")]));

const repeat: Arguments = ({ args, signature }, { int }) => {
  for (const [i, kind] of signature.args.entries()) if (kind === "int") args[i] = int(-2, 6);
};

const bounds: Arguments = (_, { maybe, pick, int }) => {
  maybe("start", () => pick([int(-4, 4), NULL_INT]));
  maybe("stop", () => pick([int(-4, 4), NULL_INT]));
};

const strftime: Arguments = ({ args }, { pick, text }) => {
  args[1] = text(pick(DATE_FORMATS));
};

const isoformat: Arguments = (_, { maybe, pick, text }) => {
  maybe("sep", () => text(pick([" ", "T", "'", "é", "😀"])));
  maybe("timespec", () =>
    text(pick(["auto", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nonsense"])),
  );
};

/** Mostly near the calendar's bounds, so that not every call raises. */
const calendar: Arguments = ({ args }, { pick, int, tree }) => {
  args[0] = pick([tree("int"), int(-2, 3), int(1900, 2100), int(9998, 10_001), yearOf(tree("date"))]);
  args[1] = pick([tree("int"), int(0, 13), int(1, 12)]);
  args[2] = pick([tree("int"), int(0, 32), int(1, 28), int(28, 30)]);
};

const JSON_CONSTANTS = [
  '"a"',
  '"\\u00e9\\n"',
  '""',
  "true",
  "false",
  "0",
  "1",
  "-1",
  "1.5",
  "1e3",
  "1.50",
  "12345678901234",
  "[1]",
];

/** SQL only compares a Json value with constants. */
function withJsonConstants({ args, signature }: Parameters<Arguments>[0], { pick }: Tools): void {
  if (signature.args[0] !== "json") return;
  for (let i = 1; i < args.length; i++) args[i] = literal("json", pick(JSON_CONSTANTS));
}

const ARGUMENTS: Readonly<Record<string, Arguments>> = {
  "string.repeat": repeat,
  "op.mul": (call, tools) => {
    if (call.signature.kind === "string") repeat(call, tools);
  },
  "string.ljust": width,
  "string.rjust": width,
  "string.center": width,
  "string.zfill": ({ args }, { int }) => {
    args[1] = int(-2, 9);
  },
  "string.pad": (call, tools) => {
    width(call, tools);
    tools.maybe("side", () => tools.text(tools.pick(["left", "right", "both"])));
  },
  "string.slice": (call, tools) => {
    bounds(call, tools);
    tools.maybe("step", () => tools.pick([literal("int", "1"), NULL_INT]));
  },
  "string.slice_replace": (call, tools) => {
    bounds(call, tools);
    tools.maybe("repl", () => tools.pick([literal("string", null), tools.text("ß'\\"), tools.tree("string")]));
  },
  "string.strip": strip,
  "string.lstrip": strip,
  "string.rstrip": strip,
  "string.contains": (_, { maybe, pick }) => maybe("case", () => literal("bool", pick([true, false]))),
  "string.replace": (_, { maybe }) => maybe("n", () => NULL_INT),
  "math.round": (_, { maybe, pick, int }) => maybe("digits", () => pick([NULL_INT, NULL_INT, int(0, 2)])),
  "timestamp.isoformat": isoformat,
  "timestamp.strftime": strftime,
  "date.strftime": strftime,
  "date.make_date": calendar,
  "timestamp.make_timestamp": (call, tools) => {
    calendar(call, tools);
    for (const [name, last] of [
      ["hour", 24],
      ["minute", 60],
      ["second", 60],
      ["microsecond", 1_000_000],
    ] as const) {
      tools.maybe(name, () => tools.pick([tools.int(0, last), tools.int(0, last - 1), tools.tree("int")]));
    }
  },
  "date.add_days": ({ args }, { pick, int, tree }) => {
    args[1] = pick([tree("int"), int(-1000, 1000), int(-3_700_000, 3_700_000)]);
  },
  "json.get": ({ args }, { pick, text, tree, maybe }) => {
    args[1] = pick([tree("string"), text("a"), text("b"), text("")]);
    maybe("default", () =>
      pick([literal("json", null), literal("json", "[1]"), json(text("x")), json(literal("int", "7"))]),
    );
  },
  "json.contains": ({ args }, { pick, text }) => {
    args[1] = json(text(pick(["a", "b", "x", "", "'\\", "two"])));
  },
  "op.in": (call, tools) => {
    withJsonConstants(call, tools);
    if (tools.pick([true, false, false])) call.args.splice(1, tools.pick([0, 1, 2]));
  },
  "op.eq": withJsonConstants,
  "op.ne": withJsonConstants,
};

/**
 * Arguments of a random call that its form supports: constants where required, options in half of the calls. `args` are
 * the positional ones and may be changed; `tree` makes others.
 */
export function chooseArguments(
  signature: Signature,
  args: Expr[],
  random: Random,
  tree: (kind: TypeKind) => Expr,
): Record<string, Expr> {
  const kwargs: Record<string, Expr> = {};
  ARGUMENTS[signature.fn]?.(
    { args, signature },
    {
      maybe: (name, make) => {
        if (random.next() < 0.5) kwargs[name] = make();
      },
      pick: (values) => random.pick(values),
      int: (from, to) => literal("int", String(random.int(from, to))),
      text: (value) => literal("string", value),
      tree,
    },
  );
  return kwargs;
}

export function literal(kind: TypeKind, value: string | number | boolean | null): Expr {
  return { node: "literal", value, type: sampleType(kind), nullable: value === null };
}

/** The year of a date: a year in the calendar. */
function yearOf(day: Expr): Expr {
  return { node: "call", fn: "date.year", args: [day], kwargs: {}, type: { kind: "int" }, nullable: true };
}

function json(value: Expr): Expr {
  return { node: "call", fn: "op.cast", args: [value], kwargs: {}, type: { kind: "json" }, nullable: false };
}
