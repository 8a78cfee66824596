import { appError } from "@appdb/contract/errors";
import { type ManifestTable, tableSchema } from "@appdb/contract/manifest";
import { wrongName } from "@appdb/contract/manifest-names";
import { referencedColumns } from "../expressions/needs-python.ts";

/** Expressions read columns of the table, and of the base of a view. @throws column_not_found, invalid_request,
 *  invalid_name */
export function checkReads(path: string, table: ManifestTable, shown: readonly string[]): void {
  const parsed = tableSchema.safeParse(table);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw wrongName(parsed.error) ?? appError("invalid_request", { detail: `${path}: ${issue?.message}.` });
  }
  const made = table.view?.iterator?.outputs.map(({ name }) => name) ?? [];
  const own = [...table.columns, ...(table.unstored ?? [])];
  const names = new Set([...shown, "pos", ...made, ...own.map(({ name }) => name)]);
  const { filter, iterator } = table.view ?? {};
  const calls = [...(iterator?.args ?? []), ...Object.values(iterator?.kwargs ?? {})];
  const exprs = [
    ...own.flatMap(({ computed }) => (computed === null ? [] : [computed.expr])),
    ...(filter == null ? [] : [filter.expr]),
    ...calls,
  ];
  const read = exprs.flatMap(referencedColumns);
  const indexed = table.indexes.flatMap(({ columns }) => columns);
  const missing = [...read, ...indexed, ...table.primary_key].find((name) => !names.has(name));
  if (missing === undefined) return;
  throw appError("column_not_found", {
    detail: `${path} has no column '${missing}'.`,
    hint: `Its columns are: ${[...names].filter((name) => name !== "pos" || made.length > 0).join(", ")}`,
    meta: { table: path, column: missing },
  });
}
