import { appError } from "@appdb/contract/errors";
import { displayType } from "@appdb/contract/types";
import { columnNotFound, namedColumns } from "../conditions/condition-sql.ts";
import { kindOf, STRING_TYPE } from "../kinds/kinds.ts";
import { quoteIdent } from "../sql/quote.ts";
import type { ReadableTable } from "../views/view-tables.ts";

/** Characters of a text that sort: a cursor has the text of the last row. */
const SORTED_CHARACTERS = 200;
const FORM = /^(.+?)(?::(asc|desc))?$/is;

/** The order of listed rows: by a column, rows without a value last, and the newest first among equal ones. */
export interface RowOrder {
  /** As the request has it. */
  readonly text: string;
  /** SQL of the value that sorts. */
  readonly value: string;
  readonly type: string;
  readonly is_descending: boolean;
}

/** Parses `column`, `column:asc` or `column:desc`. @throws column_not_found, invalid_request */
export function parseRowOrder(table: ReadableTable, text: string): RowOrder {
  const [, typed = "", direction = "asc"] = FORM.exec(text.trim()) ?? [];
  const columns = namedColumns(table);
  const column = columns.find(({ name }) => name === typed) ?? columns.find(({ name }) => name === typed.toLowerCase());
  if (column === undefined) throw columnNotFound(table, typed);
  const { name, nullable, type } = column;
  const kind = kindOf(type);
  if (!kind.isOrdered) {
    const sortable = columns.filter((one) => kindOf(one.type).isOrdered).map((one) => one.name);
    throw appError("invalid_request", {
      detail: `Rows cannot be sorted by ${name}: values of the type ${displayType(type, nullable)} have no order.`,
      hint: `Sort by one of these columns: ${sortable.join(", ") || "none"}.`,
      meta: { table: table.name, column: name },
    });
  }
  const sql = quoteIdent(name);
  return {
    text,
    value: type.kind === STRING_TYPE.kind ? `left(${sql}, ${SORTED_CHARACTERS})` : sql,
    type: kind.storage(type),
    is_descending: direction.toLowerCase() === "desc",
  };
}

/** The condition for rows behind one with a value (null for none) and an identity, both as parameters. */
export function behind(
  { is_descending: isDescending, type, value: sql }: RowOrder,
  identity: string,
  value: string | null,
  parameters: { readonly value: string; readonly identity: string },
): string {
  const isOlder = `${identity} < ${parameters.identity}::uuid`;
  if (value === null) return `(${sql} is null and ${isOlder} and ${parameters.value}::text is null)`;
  const given = `${parameters.value}::${type}`;
  return `(${sql} ${isDescending ? "<" : ">"} ${given} or (${sql} = ${given} and ${isOlder}) or ${sql} is null)`;
}
