import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Expr } from "@appdb/contract/expressions";
import { type ColumnType, displayType, type TypeKind } from "@appdb/contract/types";
import { compileSql, ROW_COLUMNS } from "@appdb/engine/expressions/compile-sql";
import { FORMS } from "@appdb/engine/expressions/forms";
import { ROOT, TOOLS_PYTHON } from "./paths.mjs";

interface Parameter {
  readonly name: string;
  readonly type: TypeKind | readonly TypeKind[];
  readonly nullable: boolean;
  readonly default?: string;
}

/** A function of the library, as scripts/list-functions.py prints it. */
interface LibraryFunction {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly takes_more: boolean;
  readonly type: TypeKind | null;
  readonly nullable: boolean;
  readonly is_method: boolean;
  readonly is_property: boolean;
}

/** Each group of functions: its heading, and what a reader must know of all of them. `{others}` are those that are not methods. */
const GROUPS: Readonly<Record<string, readonly [heading: string, note: string]>> = {
  string: [
    "`string`",
    "Also at the top: `from appdb.functions import upper`. All but {others} are methods of a String.",
  ],
  json: [
    "`json`",
    "All but {others} are methods of a Json value: `doc.tags.len()`. A name without parentheses is a key: `doc.tags.len`.",
  ],
  math: ["`math`", "Methods of a Float and an Int; an Int given for a Float is converted."],
  timestamp: ["`timestamp`", "A stored timestamp is in UTC, and so are its parts. `now` is also at the top."],
  date: ["`date`", ""],
  uuid: ["`uuid`", "`uuid4` and `uuid7` also at the top."],
  array: ["`array`", ""],
  lists: [
    "Over the elements of a list",
    "At the top (`map(doc.tags, lambda tag: tag.name)`) and as methods of a Json value. The function is called once, while the file is read.",
  ],
  aggregates: [
    "Aggregates",
    "At the top, for queries alone: a value of many rows. A null is left out. `make_list` is also `json.make_list`.",
  ],
};

/** docs/functions.md: every function of the library, with what computes it. */
export function functionsPage(generated: string): string {
  const functions = listFunctions();
  const lines = [
    "# Functions",
    "",
    generated,
    "",
    "`import appdb.functions as fn`, then `fn.json.len(doc)`; or `from appdb.functions.json import len`. Most are methods too, and",
    "the parts of a timestamp or date are properties: `ts.year`. `cast(value, db.Int)` is `value.astype(db.Int)`.",
    "",
    "A null in an argument that may not be null (no `| None` below) gives null. What a function returns is what Python returns.",
    "The last column says where it is computed: **SQL** inside PostgreSQL, which never gives another value (a row for which it",
    "raises is computed in Python), **SQL for constants** where the arguments that shape it are constants, else **Python**, in a worker.",
    "An argument that has a default is SQL where it is left out or a constant.",
  ];
  for (const [namespace, [heading, note]] of Object.entries(GROUPS)) {
    const group = functions.filter((one) => one.namespace === namespace);
    const others = group.filter((one) => !one.is_method).map(({ name }) => `\`${name}\``);
    lines.push("", `## ${heading}`, "", ...(note === "" ? [] : [note.replace("{others}", others.join(", ")), ""]));
    lines.push("| function | result | computed by |", "|---|---|---|", ...group.map(row));
  }
  return `${lines.join("\n")}\n`;
}

function listFunctions(): LibraryFunction[] {
  const listed = execFileSync(TOOLS_PYTHON, ["-B", join(ROOT, "scripts", "list-functions.py")]);
  return JSON.parse(listed.toString()) as LibraryFunction[];
}

function row(one: LibraryFunction): string {
  const parameters = one.parameters.map(parameterText);
  if (one.takes_more) parameters.push("...");
  const call = one.is_property ? `${one.name} (property)` : `${one.name}(${parameters.join(", ")})`;
  const result = one.type === null ? "that of the argument" : displayKind(one.type, one.nullable);
  return `| ${code(call)} | ${code(result)} | ${computedBy(one)} |`;
}

function parameterText({ name, type, nullable, default: otherwise }: Parameter): string {
  const kinds = typeof type === "string" ? [type] : type;
  const shown = kinds.length > 6 ? "any" : kinds.map((kind) => displayKind(kind, false)).join(" or ");
  const typed = shown === "" ? name : `${name}: ${shown}${nullable && shown !== "any" ? " | None" : ""}`;
  return otherwise === undefined ? typed : `${typed} = ${otherwise}`;
}

function computedBy(one: LibraryFunction): string {
  if (one.namespace === "aggregates") return "queries";
  if (FORMS[one.id] === undefined) return "Python";
  const args = one.parameters
    .filter((parameter) => parameter.default === undefined)
    .map(
      (parameter): Expr => ({ node: "column", name: parameter.name, type: columnType(parameter.type), nullable: true }),
    );
  const type = columnType(one.type ?? "string");
  const call: Expr = { node: "call", fn: one.id, args, kwargs: {}, type, nullable: true };
  // A part of a Json value is SQL where it is converted, as in doc.get("n").astype(db.Int).
  const whole: Expr =
    type.kind === "json"
      ? { node: "call", fn: "op.cast", args: [call], kwargs: {}, type: { kind: "string" }, nullable: true }
      : call;
  return compileSql(whole, ROW_COLUMNS) === undefined ? "SQL for constants" : "SQL";
}

function columnType(type: TypeKind | readonly TypeKind[]): ColumnType {
  const kind = typeof type === "string" ? type : (type[0] ?? "json");
  return kind === "array" ? { kind, dtype: "float64", shape: null } : { kind };
}

function displayKind(kind: TypeKind, nullable: boolean): string {
  const type = kind === "array" ? "Array" : displayType(columnType(kind), false);
  return nullable ? `${type} | None` : type;
}

/** Code within a table, where a bar would end the cell. */
function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}
