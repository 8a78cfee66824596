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
  /** Passed by name only. */
  readonly is_named: boolean;
  readonly default?: string;
}

/** A function of the library, as scripts/list-functions.py prints it. */
export interface LibraryFunction {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly takes_more: boolean;
  readonly type: TypeKind | null;
  readonly nullable: boolean;
  readonly is_method: boolean;
  readonly is_property: boolean;
  /** Of an iterator. `is_asked`: only with certain arguments. */
  readonly outputs?: readonly IteratorOutput[];
  readonly packages?: readonly { readonly name: string; readonly is_asked: boolean }[];
}

interface IteratorOutput {
  readonly name: string;
  readonly type: TypeKind;
  readonly nullable: boolean;
  readonly is_stored: boolean;
  readonly is_asked: boolean;
}

export function listFunctions(): LibraryFunction[] {
  const listed = execFileSync(TOOLS_PYTHON, ["-B", join(ROOT, "scripts", "list-functions.py")]);
  return JSON.parse(listed.toString()) as LibraryFunction[];
}

/** A table for each namespace by name: `functions.string`. */
export function functionTables(functions: readonly LibraryFunction[]): Record<string, () => string[]> {
  const namespaces = [...new Set(functions.map(({ namespace }) => namespace))];
  const header = (name: string) =>
    name === "iterators"
      ? ["| iterator | outputs after `pos` | packages |", "|---|---|---|"]
      : ["| function | result | computed by |", "|---|---|---|"];
  const table = (name: string) => [
    ...header(name),
    ...functions.filter(({ namespace }) => namespace === name).map(name === "iterators" ? iteratorRow : row),
  ];
  return Object.fromEntries(namespaces.map((name) => [`functions.${name}`, () => table(name)]));
}

/** Functions that are not methods, by namespace. */
export function namesOfPlainFunctions(functions: readonly LibraryFunction[]): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const { is_method: isMethod, name, namespace } of functions) {
    if (!isMethod)
      plain[namespace] = plain[namespace] === undefined ? `\`${name}\`` : `${plain[namespace]}, \`${name}\``;
  }
  return plain;
}

function row(one: LibraryFunction): string {
  const result = one.type === null ? "that of the argument" : displayKind(one.type, one.nullable);
  return `| ${code(callText(one))} | ${code(result)} | ${computedBy(one)} |`;
}

function iteratorRow(one: LibraryFunction): string {
  const outputs = one.outputs ?? [];
  const shown = outputs.map(({ name, type, nullable, is_stored: isStored, is_asked: isAsked }) => ({
    text: code(`${name}: ${displayKind(type, nullable)}`) + (isStored ? "" : " (not stored)"),
    is_asked: isAsked,
  }));
  const packages = (one.packages ?? []).map(({ name, is_asked: isAsked }) => ({ text: code(name), is_asked: isAsked }));
  const columns = outputs.length === 0 ? "a column for each key or list" : withAsked(shown, "on request");
  return `| ${code(callText({ ...one, name: one.id }))} | ${columns} | ${withAsked(packages, "as needed") || "none"} |`;
}

function withAsked(parts: readonly { readonly text: string; readonly is_asked: boolean }[], when: string): string {
  const texts = (isAsked: boolean) =>
    parts
      .filter((part) => part.is_asked === isAsked)
      .map(({ text }) => text)
      .join(", ");
  const asked = texts(true) === "" ? "" : `${when} ${texts(true)}`;
  return [texts(false), asked].filter((text) => text !== "").join("; ");
}

function callText(one: LibraryFunction): string {
  const parameters = one.parameters.map(parameterText);
  const firstNamed = one.parameters.findIndex((parameter) => parameter.is_named);
  if (firstNamed !== -1) parameters.splice(firstNamed, 0, "*");
  if (one.takes_more) parameters.push("...");
  return one.is_property ? `${one.name} (property)` : `${one.name}(${parameters.join(", ")})`;
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
  // A part of a Json value is SQL only where it is converted, as in doc.get("n").astype(db.Int).
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

/** Code in a table, where a bar would end the cell. */
function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}
