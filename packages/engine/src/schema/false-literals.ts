import { appError } from "@appdb/contract/errors";
import type { ManifestColumn, ManifestTable } from "@appdb/contract/manifest";
import { visit } from "../expressions/tree.ts";
import { findLiteralProblem, type TypedLiteral } from "../kinds/values.ts";

/**
 * Refuses literals of computed columns and of defaults that are not of their type: PostgreSQL would take more texts, such
 * as `infinity` for a timestamp. The library writes valid ones; other clients also declare tables.
 * @throws app_invalid
 */
export function refuseFalseLiterals(tables: readonly ManifestTable[]): void {
  for (const table of tables) {
    for (const column of table.columns) {
      const { computed, default: given, type } = column;
      if (given?.expr.node === "literal") {
        check(table, column, `The default of column ${table.name}.${column.name}`, { type, value: given.expr.value });
      }
      if (computed === null) continue;
      visit(computed.expr, (node) => {
        if (node.node === "literal") check(table, column, `A literal of column ${table.name}.${column.name}`, node);
      });
    }
  }
}

function check(
  { name: table }: ManifestTable,
  { name, source }: ManifestColumn,
  what: string,
  literal: TypedLiteral,
): void {
  const problem = findLiteralProblem(literal);
  if (problem === undefined) return;
  throw appError("app_invalid", {
    detail: `${source.file}:${source.line}: ${what} is not of its type: ${problem}`,
    hint: "Write the literal in the form of its type.",
    meta: { table, column: name },
  });
}
