import { type ExactObject, printExact } from "@appdb/contract/clients/exact-json";
import { jsonOf } from "@appdb/contract/clients/typed-values";
import type { DataColumn, DataTable } from "@appdb/contract/routes/data-api";
import { cellFile } from "./read-rows.ts";
import { keyValues } from "./row-key.ts";

/** A cell while a person writes it. */
export interface CellDraft {
  readonly text: string;
  readonly is_null: boolean;
}
export type RowDraft = Readonly<Record<string, CellDraft>>;

const OPTIONAL = " | None";
/** Types whose values are JSON and not texts, with an example. */
const EXAMPLES: readonly (readonly [type: RegExp, example: string])[] = [
  [/^Int\b/, "a number: 42"],
  [/^Float\b/, "a number: 0.5"],
  [/^Bool\b/, "true or false"],
  [/^Json\b/, 'JSON: {"a": 1}'],
  [/^Array\b/, "a JSON array: [1, 2]"],
];

export function isNullable({ type }: DataColumn): boolean {
  return type.endsWith(OPTIONAL);
}

/** Whether a value of the column is written as JSON. */
export function isWrittenAsJson({ type }: DataColumn): boolean {
  return EXAMPLES.some(([of]) => of.test(type));
}

/** A row's cell as a person edits it. */
export function draftOf(row: ExactObject, column: DataColumn): CellDraft {
  const value = row.get(column.name) ?? null;
  if (value === null) return { text: "", is_null: true };
  const file = cellFile(row, column.name, column.type);
  if (file !== undefined) return { text: file.url ?? file.address, is_null: false };
  const text = typeof value === "string" && !isWrittenAsJson(column) ? value : printExact(value, 2);
  return { text, is_null: false };
}

/** Why the column refuses a text. The server checks again. Undefined for a value. */
export function cellProblem(column: DataColumn, text: string): string | undefined {
  const example = EXAMPLES.find(([of]) => of.test(column.type))?.[1];
  if (example === undefined) return undefined;
  const json = jsonOf({ ...column, type: baseType(column) }, { text, is_quoted: true });
  // a text that does not fit becomes a JSON string, which is a value of Json only if it was written as one
  const isString = json.startsWith('"') && !(/^Json\b/.test(column.type) && json === text.trim());
  return isString ? `Expected ${example}.` : undefined;
}

function baseType({ type }: DataColumn): string {
  return type.endsWith(OPTIONAL) ? type.slice(0, -OPTIONAL.length) : type;
}

/** The body that changes a row to what was written. Undefined if nothing was changed. */
export function updateBody(table: DataTable, row: ExactObject, drafts: RowDraft): string | undefined {
  const changed = table.columns.filter((column) => {
    const [before, after] = [draftOf(row, column), drafts[column.name]];
    if (after === undefined || after.is_null !== before.is_null) return after !== undefined;
    return !after.is_null && after.text !== before.text;
  });
  if (changed.length === 0) return undefined;
  const keys = table.columns.filter((column) => column.is_key);
  const key = keyValues(table, row).map((value, at) => member(keys[at]?.name ?? "", printExact(value)));
  const values = changed.map((column) => member(column.name, draftJson(column, drafts[column.name])));
  return `{"rows":[{${[...key, ...values].join(",")}}]}`;
}

function draftJson(column: DataColumn, draft: CellDraft | undefined): string {
  if (draft === undefined || draft.is_null) return "null";
  return jsonOf(column, { text: draft.text, is_quoted: true });
}

function member(name: string, json: string): string {
  return `${JSON.stringify(name)}:${json}`;
}
