import type { ColumnType } from "@appdb/contract/types";
import { keyExpression } from "../catalog/ddl.ts";
import { quoteIdent } from "../sql/quote.ts";

/** A column with what it is compared to, as SQL of its storage type. */
export interface Asked {
  readonly name: string;
  readonly type: ColumnType;
  readonly sql: string;
}

/** Compares the columns of a key, so that its unique index finds the row: that holds texts by their hash. */
export function matchKey(alias: string, key: readonly Asked[]): string {
  return key
    .map(({ name, type, sql }) => matchKeyColumn(`${quoteIdent(alias)}.${quoteIdent(name)}`, type, sql))
    .join(" and ");
}

function matchKeyColumn(column: string, type: ColumnType, asked: string): string {
  const indexed = keyExpression(column, type);
  return indexed === column
    ? `${column} = ${asked}`
    : `${indexed} = ${keyExpression(asked, type)} and ${column} = ${asked}`;
}
