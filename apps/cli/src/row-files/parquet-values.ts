import { isJson, isJsonColumn } from "@appdb/contract/clients/typed-values";
import type { DataColumn } from "@appdb/contract/routes/data-api";
import type { FileMetaData, SchemaElement, SchemaTree } from "hyparquet";
import {
  dateText,
  decimalText,
  float16Of,
  numberText,
  signed,
  timestampText,
  Unfit,
  uuidText,
} from "./parquet-leaves.ts";

/** The JSON of a value that the reader gives without its logical type. @throws Unfit */
type Print = (value: unknown) => string;
type Leaf = (element: SchemaElement) => Print;

const MICROS_OF_DAY = 86_400_000_000n;
/** Strings of JSON have none. */
const LINE_ENDS = /[\r\n]+/g;
const ARRAY = /^Array\b/;
/** Columns that keep the digits of a Float. */
const TAKES_FLOATS = /^(?:Float|Array)\b/;

/** The reader converts values by their logical types with less than their digits. Without these types it gives all. */
export function withoutTypes(metadata: FileMetaData): FileMetaData {
  const schema = metadata.schema.map((element) => {
    const { converted_type: _, logical_type: __, ...physical } = element;
    return isList(element) ? { ...physical, converted_type: "LIST" as const } : physical;
  });
  return { ...metadata, schema };
}

/** Converts the one physical type that the reader does not leave as it is. */
export const PARSERS = { timestampFromNanoseconds: (nanos: bigint) => nanos };

/**
 * How the cells of a column of a file are printed for a column of a table. `isMarked`: the file says that its texts are
 * JSON. The server refuses what does not fit the column's type.
 */
export function cellPrinter(tree: SchemaTree, column: DataColumn, isMarked: boolean): Print {
  const { element } = tree;
  const print = cellOf(tree, column, isMarked);
  const isFloat = tree.children.length === 0 && isFloating(element);
  return (value) => (isFloat && Number.isNaN(numberOf(element, value)) ? "null" : orNull(print)(value));
}

/** Prints cells of a column of durations. */
export const durationPrinter = orNull(refuse("a duration cannot be stored. Write it as a number or as text"));

function cellOf(tree: SchemaTree, column: DataColumn, isMarked: boolean): Print {
  const { children, element } = tree;
  const leaf = TAKES_FLOATS.test(column.type) ? floatLeaf : leafPrinter;
  if (children.length > 0 || element.repetition_type === "REPEATED") return printerOf(tree, leaf);
  const takesJson = isJsonColumn(column) || (isMarked && ARRAY.test(column.type));
  if (takesJson && (isMarked ? isText(element) || isJsonType(element) : isJsonType(element))) return jsonLine;
  if (isBytes(element)) {
    if (column.type.startsWith("Binary"))
      return (value) => JSON.stringify(Buffer.from(bytesOf(value)).toString("base64"));
    const reason = `bytes are stored in Binary columns only, and this is ${column.type.replace(" | None", "")}`;
    return refuse(`${reason}. Decode them in the program that writes the file`);
  }
  const unit = unitOf(element);
  if (unit !== undefined && !isOfZone(element) && column.type.startsWith("Date")) return dayOr(unit);
  return printerOf(tree, leaf);
}

/** pandas has no other type for days than timestamps at midnight. */
function dayOr(unit: bigint): Print {
  return (value) => {
    const micros = microsOf(value, unit);
    return JSON.stringify(
      micros % MICROS_OF_DAY === 0n ? dateText(Number(micros / MICROS_OF_DAY)) : timestampText(micros),
    );
  };
}

function printerOf(tree: SchemaTree, leaf: Leaf): Print {
  if (tree.element.repetition_type === "REPEATED") return listOf(oneOf(tree, leaf));
  return oneOf(tree, leaf);
}

function oneOf(tree: SchemaTree, leaf: Leaf): Print {
  const { children, element } = tree;
  const [first] = children;
  if (first === undefined) return leaf(element);
  if (isMap(tree)) return mapPrinter(tree, leaf);
  if (isList(element) && children.length === 1 && first.children.length <= 1) {
    return listOf(orNull(oneOf(first.children[0] ?? first, leaf)));
  }
  const members = children.map((child) => [child.element.name, orNull(printerOf(child, leaf))] as const);
  return (value) => {
    const found = value as Record<string, unknown>;
    return `{${members.map(([name, print]) => `${JSON.stringify(name)}:${print(found[name])}`).join(",")}}`;
  };
}

function listOf(print: Print): Print {
  return (value) => `[${Array.from(value as Iterable<unknown>, orNull(print)).join(",")}]`;
}

/** A map is an object, whose names are texts and come once. */
function mapPrinter({ children: [pairs] }: SchemaTree, leaf: Leaf): Print {
  const [key, item] = pairs?.children ?? [];
  if (pairs === undefined || key === undefined || item === undefined) return refuse("a map has no values");
  const isTextual = isText(key.element);
  const printKey = leafPrinter(key.element);
  const printItem = orNull(printerOf(item, leaf));
  return (value) => {
    const found = (value as Record<string, unknown>)[pairs.element.name];
    const members = new Map<string, string>();
    for (const pair of (found ?? []) as readonly Record<string, unknown>[]) {
      const name = printKey(pair[key.element.name]);
      if (!isTextual) throw new Unfit(`a map has the key ${name}, and JSON has texts as keys`);
      if (members.has(name)) throw new Unfit(`a map has the key ${name} twice`);
      members.set(name, printItem(pair[item.element.name]));
    }
    return `{${Array.from(members, ([name, text]) => `${name}:${text}`).join(",")}}`;
  };
}

function leafPrinter(element: SchemaElement): Print {
  const { converted_type: converted, logical_type: logical, scale, type } = element;
  if (isDecimal(element)) {
    return (value) => decimalOf(value, scale).text;
  }
  if (converted === "DATE" || logical?.type === "DATE") return (value) => JSON.stringify(dateText(Number(value)));
  const unit = unitOf(element);
  if (unit !== undefined) return (value) => JSON.stringify(timestampText(microsOf(value, unit)));
  if (converted?.startsWith("TIME_") === true || logical?.type === "TIME") {
    return refuse("a time of day cannot be stored. Write it as text");
  }
  if (converted === "INTERVAL") return refuse("an interval cannot be stored. Write it as text");
  if (logical?.type === "UUID") return (value) => JSON.stringify(uuidText(bytesOf(value)));
  if (isText(element) || isJsonType(element)) return (value) => JSON.stringify(textOf(value));
  if (isFloating(element)) return (value) => numberText(numberOf(element, value));
  if (isBytes(element)) return refuse("the value has bytes inside, which JSON lacks. Decode them to text");
  if (type === "BOOLEAN") return String;
  return integerPrinter(element);
}

function decimalOf(value: unknown, scale: number | undefined): { readonly text: string; readonly isExact: boolean } {
  return decimalText(value instanceof Uint8Array ? signed(value) : BigInt(value as number), scale ?? 0);
}

/** A Float has the digits of a decimal, or the value is refused. */
function floatLeaf(element: SchemaElement): Print {
  if (!isDecimal(element)) return leafPrinter(element);
  return (value) => {
    const { isExact, text } = decimalOf(value, element.scale);
    if (isExact) {
      throw new Unfit(`${text} has more digits than a Float keeps. Round it, or write it as text for a String column`);
    }
    return text;
  };
}

/** The reader gives the bits of unsigned integers as signed ones. */
function integerPrinter({ converted_type: converted, logical_type: logical, type }: SchemaElement): Print {
  const isUnsigned = converted?.startsWith("UINT_") === true || (logical?.type === "INTEGER" && !logical.isSigned);
  if (!isUnsigned) return String;
  return (value) => BigInt.asUintN(type === "INT64" ? 64 : 32, BigInt(value as number)).toString();
}

function orNull(print: Print): Print {
  return (value) => (value === undefined || value === null ? "null" : print(value));
}

function refuse(reason: string): Print {
  return () => {
    throw new Unfit(reason);
  };
}

/** A JSON text as the file has it, with all digits of its numbers, in one line. */
function jsonLine(value: unknown): string {
  const text = textOf(value);
  if (!isJson(text)) throw new Unfit(`the file says that it is JSON, and ${JSON.stringify(text.slice(0, 60))} is not`);
  return text.replace(LINE_ENDS, " ");
}

function textOf(value: unknown): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytesOf(value));
  } catch {
    throw new Unfit("the text is not UTF-8");
  }
}

function bytesOf(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new TypeError("A value of a file is not bytes.");
  return value;
}

function numberOf(element: SchemaElement, value: unknown): number {
  return element.logical_type?.type === "FLOAT16" && value instanceof Uint8Array ? float16Of(value) : Number(value);
}

/** Microseconds, or the nanoseconds of one, in the unit of a type of timestamps; undefined for other types. */
function unitOf({ converted_type: converted, logical_type: logical, type }: SchemaElement): bigint | undefined {
  const unit = logical?.type === "TIMESTAMP" ? logical.unit : undefined;
  if (unit === "MILLIS" || converted === "TIMESTAMP_MILLIS") return 1_000n;
  if (unit === "MICROS" || converted === "TIMESTAMP_MICROS") return 1n;
  return unit === "NANOS" || type === "INT96" ? -1_000n : undefined;
}

/** `unit` below zero divides, down to the earlier microsecond. */
function microsOf(value: unknown, unit: bigint): bigint {
  const count = BigInt(value as bigint);
  if (unit > 0n) return count * unit;
  const whole = count / -unit;
  return whole * -unit > count ? whole - 1n : whole;
}

function isOfZone({ logical_type: logical, type }: SchemaElement): boolean {
  return type !== "INT96" && (logical?.type !== "TIMESTAMP" || logical.isAdjustedToUTC);
}

function isFloating({ logical_type: logical, type }: SchemaElement): boolean {
  return type === "FLOAT" || type === "DOUBLE" || logical?.type === "FLOAT16";
}

function isText({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return converted === "UTF8" || converted === "ENUM" || logical?.type === "STRING" || logical?.type === "ENUM";
}

function isJsonType({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return converted === "JSON" || logical?.type === "JSON";
}

/** Whether it is bytes without a meaning. */
function isBytes(element: SchemaElement): boolean {
  const { converted_type: converted, logical_type: logical, type } = element;
  const isOfBytes = type === "BYTE_ARRAY" || type === "FIXED_LEN_BYTE_ARRAY";
  const meanings = ["DECIMAL", "UUID", "FLOAT16"];
  const isKnown = meanings.includes(logical?.type ?? "") || converted === "DECIMAL" || converted === "INTERVAL";
  return isOfBytes && !isKnown && !isText(element) && !isJsonType(element);
}

function isDecimal({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return converted === "DECIMAL" || logical?.type === "DECIMAL";
}

function isList({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return converted === "LIST" || logical?.type === "LIST";
}

function isMap({ children, element }: SchemaTree): boolean {
  const { converted_type: converted, logical_type: logical } = element;
  const isNamed = converted === "MAP" || converted === "MAP_KEY_VALUE" || logical?.type === "MAP";
  return isNamed && children.length === 1 && children[0]?.children.length === 2;
}
