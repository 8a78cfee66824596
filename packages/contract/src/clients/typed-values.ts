import type { DataColumn } from "../routes/data-api.ts";
import type { CsvCell } from "./read-csv.ts";

/** Sign, digits, fraction and exponent. The library reads the same texts (python/appdb/client/rows/csv_cells.py). */
const NUMBER = /^([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?([eE][+-]?\d{1,4})?$/;
const BOOLS: ReadonlyMap<string, string> = new Map([
  ...["true", "t", "yes", "1"].map((text) => [text, "true"] as const),
  ...["false", "f", "no", "0"].map((text) => [text, "false"] as const),
]);
/** Columns in which an empty text in quotes is a value other than null. */
const TAKES_EMPTY_TEXT = /^(?:String|Binary)\b/;
const MEDIA = /^(?:Image|Video|Audio|Document)\b/;
const OPTIONAL = " | None";

/** Whether cells of a column are files. */
export function isMediaColumn({ is_computed: isComputed, type }: DataColumn): boolean {
  return !isComputed && MEDIA.test(type);
}

/** Whether cells of a column are JSON texts. */
export function isJsonColumn({ type }: Pick<DataColumn, "type">): boolean {
  return /^Json\b/.test(type);
}

/** Whether a typed value has a text that is not JSON, and its column takes JSON. */
export function isBrokenJson(column: DataColumn, { is_quoted: isQuoted, text }: CsvCell): boolean {
  return isJsonColumn(column) && (text !== "" || isQuoted) && !isJson(text.trim());
}

/** The JSON text of a typed value, in the form that the column takes. The server refuses what does not fit. */
export function jsonOf(column: DataColumn, { is_quoted: isQuoted, text }: CsvCell): string {
  const isNullable = column.type.endsWith(OPTIONAL);
  const type = isNullable ? column.type.slice(0, -OPTIONAL.length) : column.type;
  const isText = type === "String";
  if (text === "" && !isQuoted && (isNullable || !isText)) return "null";
  const value = text.trim();
  if (type === "Int" || type === "Float") return numberOf(value) ?? JSON.stringify(text);
  if (type === "Bool") return BOOLS.get(value.toLowerCase()) ?? JSON.stringify(text);
  if (/^(?:Json|Array)\b/.test(type)) return isJson(value) ? value : JSON.stringify(text);
  return JSON.stringify(text);
}

/** The JSON number of a text such as `+007.50`; undefined for another text. */
function numberOf(text: string): string | undefined {
  const [, sign = "", whole = "", fraction = "", exponent = ""] = NUMBER.exec(text) ?? [];
  if (whole === "" && fraction === "") return undefined;
  const digits = whole.replace(/^0+(?=\d)/, "");
  return `${sign === "-" ? "-" : ""}${digits === "" ? "0" : digits}${fraction === "" ? "" : `.${fraction}`}${exponent}`;
}

/** A cell of CSV as its column takes it: an empty one in quotes is a text only where the column has texts or bytes. */
export function csvCell(column: DataColumn, cell: CsvCell): CsvCell {
  return cell.text === "" && cell.is_quoted && !TAKES_EMPTY_TEXT.test(column.type)
    ? { text: "", is_quoted: false }
    : cell;
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
