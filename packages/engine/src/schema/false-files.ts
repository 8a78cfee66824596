import { appError } from "@appdb/contract/errors";
import type { ManifestTable } from "@appdb/contract/manifest";
import { type ColumnType, displayType, isMediaKind } from "@appdb/contract/types";
import { visit } from "../expressions/tree.ts";

/**
 * Refuses a computed column whose expression is, or reads, a file where the column has another type, and such a default:
 * SQL would take a text for a reference to a file. The library writes no such types; one written by hand may.
 * @throws app_invalid
 */
export function refuseFalseFiles(tables: readonly Pick<ManifestTable, "columns" | "name">[]): void {
  for (const { columns, name: table } of tables) {
    const types = new Map(columns.map(({ name, type }) => [name, type]));
    for (const { computed, default: given, name, type } of columns) {
      if (given != null && isFalse(type, given.expr.type)) throw falseFile(table, name, given.expr.type, type);
      if (computed === null) continue;
      if (isFalse(type, computed.expr.type)) throw falseFile(table, name, computed.expr.type, type);
      visit(computed.expr, (node) => {
        const read = node.node === "column" && node.of === undefined ? types.get(node.name) : undefined;
        if (node.node === "column" && read !== undefined && isFalse(read, node.type)) {
          throw falseFile(table, node.name, node.type, read);
        }
      });
    }
  }
}

function isFalse(one: ColumnType, other: ColumnType): boolean {
  return one.kind !== other.kind && (isMediaKind(one.kind) || isMediaKind(other.kind));
}

function falseFile(table: string, column: string, expected: ColumnType, type: ColumnType): Error {
  return appError("app_invalid", {
    detail: `The manifest takes column '${column}' of table '${table}' for ${displayType(expected, false)}, but it is ${displayType(type, false)}.`,
    hint: "Let the library write the manifest: cli schema update app.py <target>",
    meta: { table, column },
  });
}
