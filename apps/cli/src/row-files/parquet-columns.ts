import { type ExactJson, ExactNumber, isArray, printExact } from "@appdb/contract/clients/exact-json";
import { appError } from "@appdb/contract/errors";
import type { DataColumn } from "@appdb/contract/routes/data-api";
import type { ArrayDtype } from "@appdb/contract/types";
import type { SchemaElement } from "hyparquet";

/** A column of a Parquet file: its elements in the schema, and how a cell of a row becomes its value. */
export interface ParquetColumn {
  readonly name: string;
  readonly elements: readonly SchemaElement[];
  readonly value: (cell: ExactJson) => unknown;
}

type Leaf = Omit<SchemaElement, "name" | "repetition_type">;
interface Form {
  readonly leaf: Leaf;
  readonly value: (cell: ExactJson) => unknown;
  /** The texts that it can hold, if the cells are texts that it may lack. */
  readonly fits?: RegExp;
}

const DAY_MS = 86_400_000;
const SECONDS = "2026-01-31T00:00:00".length;
const UTF8: Leaf = { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } };
const TEXT: Form = { leaf: UTF8, value: (cell) => (typeof cell === "string" ? cell : printExact(cell)) };
const INT64: Form = { leaf: { type: "INT64" }, value: (cell) => BigInt(digits(cell)) };
const DOUBLE: Form = { leaf: { type: "DOUBLE" }, value: (cell) => Number(digits(cell)) };
const BOOLEAN: Form = { leaf: { type: "BOOLEAN" }, value: (cell) => cell === true };

/** By the first word of a column's type. The types are those of Arrow results (docs/data-api.md); others are texts. */
const FORMS: Readonly<Record<string, Form>> = {
  Int: INT64,
  Float: DOUBLE,
  Bool: BOOLEAN,
  Timestamp: {
    leaf: {
      type: "INT64",
      converted_type: "TIMESTAMP_MICROS",
      logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
    },
    value: (cell) => micros(String(cell)),
    fits: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
  },
  Date: {
    leaf: { type: "INT32", converted_type: "DATE" },
    value: (cell) => Date.parse(String(cell)) / DAY_MS,
    fits: /^\d{4}-\d\d-\d\d$/,
  },
  Binary: { leaf: { type: "BYTE_ARRAY" }, value: (cell) => new Uint8Array(Buffer.from(String(cell), "base64")) },
  // a text would be read back as JSON without its quotes
  Json: { leaf: UTF8, value: (cell) => printExact(cell) },
};

const small = (bits: "INT_8" | "INT_16" | "INT_32" | "UINT_8"): Form => ({
  leaf: { type: "INT32", converted_type: bits },
  value: (cell) => Number(digits(cell)),
});
const ELEMENTS = {
  bool: BOOLEAN,
  uint8: small("UINT_8"),
  int8: small("INT_8"),
  int16: small("INT_16"),
  int32: small("INT_32"),
  int64: INT64,
  float32: { leaf: { type: "FLOAT" }, value: DOUBLE.value },
  float64: DOUBLE,
  string: TEXT,
} as const satisfies Readonly<Record<ArrayDtype, Form>>;
/** `Array[(None, 3), int64]`: the lengths and the elements. */
const ARRAY = /^Array\[\(([^)]*)\), (\w+)\]/;

/** The column of a file for a column of a table. */
export function parquetColumn({ name, type }: DataColumn): ParquetColumn {
  const [, lengths, element = ""] = ARRAY.exec(type) ?? [];
  if (lengths !== undefined) {
    const dtype = element === "str" ? "string" : element;
    const depth = lengths.split(",").filter((length) => length.trim() !== "").length;
    const form = Object.hasOwn(ELEMENTS, dtype) ? ELEMENTS[dtype as ArrayDtype] : TEXT;
    return { name, elements: listElements(name, depth, form.leaf), value: (cell) => nested(cell, form) };
  }
  const { fits, leaf, value } = FORMS[/^\w+/.exec(type)?.[0] ?? ""] ?? TEXT;
  const elements = [{ name, ...optional(leaf) }];
  if (fits === undefined) return { name, elements, value };
  return {
    name,
    elements,
    value(cell) {
      if (!fits.test(String(cell))) throw outsideType(name, type, String(cell));
      return value(cell);
    },
  };
}

/** Other programs can write values that the product refuses. CSV and JSON lines have their texts. */
function outsideType(column: string, type: string, value: string): Error {
  return appError("value_outside_type", {
    detail: `The column ${column} has ${value}, which Parquet has not: it is not a ${type.replace(" | None", "")}.`,
    hint: `Export as CSV or JSON lines, or replace it: cli update <table> <key> --set ${column}=<value>`,
    meta: { column },
  });
}

/** Lists in the three levels that the format prescribes. */
function listElements(name: string, depth: number, leaf: Leaf): readonly SchemaElement[] {
  if (depth === 0) return [{ name, ...optional(leaf) }];
  return [
    { name, repetition_type: "OPTIONAL", num_children: 1, converted_type: "LIST", logical_type: { type: "LIST" } },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
    ...listElements("element", depth - 1, leaf),
  ];
}

function optional(leaf: Leaf) {
  return { ...leaf, repetition_type: "OPTIONAL" } as const;
}

function nested(cell: ExactJson, form: Form): unknown {
  return isArray(cell) ? cell.map((item) => nested(item, form)) : form.value(cell);
}

function digits(cell: ExactJson): string {
  return cell instanceof ExactNumber ? cell.text : String(cell);
}

/** `2026-01-31T10:00:00.000001Z` since 1970. */
function micros(text: string): bigint {
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
  return BigInt(Date.parse(`${text.slice(0, SECONDS)}Z`)) * 1_000n + BigInt(fraction.padEnd(6, "0").slice(0, 6));
}
