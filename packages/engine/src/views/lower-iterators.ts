import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { ManifestColumn, ManifestTable } from "@appdb/contract/manifest";
import type { ManifestIterator } from "@appdb/contract/views";
import { renameInExpr } from "../catalog/rename-catalog.ts";
import { viewColumnName } from "../catalog/sql-names.ts";
import { asMade, madeRowsExpr, ofMadeRow } from "../expressions/made-rows.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import { INT_TYPE, JSON_TYPE, UUID_TYPE } from "../kinds/kinds.ts";

/** The identity of the base's row, in each row of an iterator view. */
export const BASE_ROW = "_base_row";

/** An iterator view before its base's column is complete: views over it add columns to its table. */
export interface LoweredIterator {
  /** The table with its rows. */
  readonly child: ManifestTable;
  /** Its columns that read columns of the base, over names of the base's table. */
  readonly overBase: readonly { readonly name: string; readonly expr: Expr }[];
}

/**
 * The table with the rows of an iterator view. Its columns are the number of a row, the stored outputs, and the view's
 * own columns, those of its vectors among them. One that reads columns of the base is stored: it is made with its row.
 * @throws app_invalid for a column with the name of an output
 */
export function lowerIterator(
  declared: ManifestTable,
  iterator: ManifestIterator,
  base: {
    readonly table: ManifestTable;
    readonly names: ReadonlyMap<string, string>;
    /** The columns of the base that the view shows. */
    readonly visible: NonNullable<NonNullable<ManifestTable["rows_of"]>["columns"]>;
  },
): LoweredIterator {
  const { name, source } = declared;
  const outputs = iterator.outputs.filter((output) => output.is_stored);
  const made = new Set(["pos", ...outputs.map((output) => output.name), ...declared.columns.map((one) => one.name)]);
  const selected = new Set(declared.view?.selected);
  const overBase: { name: string; expr: Expr }[] = [];
  const own = declared.columns.map((column): ManifestColumn => {
    const { computed } = column;
    if (computed !== null && selected.has(column.name)) {
      overBase.push({ name: column.name, expr: renameInExpr(computed.expr, base.names) });
      return { ...column, nullable: true, primary_key: false, computed: null };
    }
    if (computed === null || referencedColumns(computed.expr).every((read) => made.has(read))) {
      return { ...column, nullable: true, primary_key: false };
    }
    // A copy of a column of a filtered view has that column's name in the table: `cheap.label` is also read from there.
    overBase.push({ name: column.name, expr: renameInExpr(asMade(computed.expr, made), base.names) });
    return { ...column, nullable: true, primary_key: false, computed: null };
  });
  const stored = (column: Pick<ManifestColumn, "name" | "type" | "nullable">): ManifestColumn => ({
    ...column,
    primary_key: false,
    computed: null,
    comment: null,
    custom_metadata: null,
    renamed_from: null,
    source,
  });
  const taken = declared.columns.find((column) => column.name === "pos" || outputs.some((o) => o.name === column.name));
  if (taken !== undefined) {
    throw appError("app_invalid", {
      detail: `${source.file}:${source.line}: The view '${name}' declares '${taken.name}', which its iterator gives.`,
      hint: "Give the column another name.",
      meta: { table: name },
    });
  }
  return {
    child: {
      ...declared,
      view: undefined,
      rows_of: {
        table: base.table.name,
        ...(declared.view === undefined || declared.view.base === base.table.name ? {} : { base: declared.view.base }),
        column: viewColumnName(name, null),
        text: iterator.text,
        ...textsOf(declared, overBase),
        columns: base.visible,
      },
      primary_key: [],
      columns: [
        { ...stored({ name: BASE_ROW, type: UUID_TYPE, nullable: false }), is_hidden: true },
        stored({ name: "pos", type: INT_TYPE, nullable: false }),
        ...outputs.map((output) => stored({ ...pick(output), nullable: true })),
        ...own,
      ],
      indexes: [{ kind: "btree", name: null, columns: [BASE_ROW, "pos"], source }, ...declared.indexes],
    },
    overBase,
  };
}

/** The declared texts of columns that are made with their row. */
function textsOf({ columns }: ManifestTable, made: readonly { readonly name: string }[]) {
  const texts = columns.flatMap(({ computed, is_hidden: isHidden, name }) => {
    const isMade = isHidden !== true && computed !== null && made.some((one) => one.name === name);
    return isMade ? [[name, computed.text] as const] : [];
  });
  return texts.length === 0 ? {} : { values: Object.fromEntries(texts) };
}

function pick({ name, type, nullable }: ManifestIterator["outputs"][number]) {
  return { name, type, nullable };
}

/** The column of the base that makes the rows: what its iterator gives, and what the columns of the table compute. */
export function rowsColumn(
  declared: ManifestTable,
  iterator: ManifestIterator,
  { child, overBase }: LoweredIterator,
  base: { readonly names: ReadonlyMap<string, string>; readonly guard: (expr: Expr) => Expr },
): ManifestColumn {
  const made = new Set(child.columns.map((column) => column.name));
  const outputs = iterator.outputs.filter((output) => output.is_stored);
  const own = child.columns.flatMap(({ name, computed }) =>
    computed === null ? [] : [{ name, expr: asMade(computed.expr, made) }],
  );
  const computed = [...overBase, ...own];
  const before = inReadingOrder(overBase, computed);
  const wasNamed = declared.renamed_from ?? declared.name;
  const args = iterator.args.map((arg) => renameInExpr(arg, base.names));
  const kwargs = Object.fromEntries(
    Object.entries(iterator.kwargs).map(([key, arg]) => [key, renameInExpr(arg, base.names)]),
  );
  const call: Expr = iterator.is_udf
    ? { node: "udf", function: iterator.fn, args, kwargs, type: JSON_TYPE, nullable: true }
    : { node: "call", fn: iterator.fn, args, kwargs, type: JSON_TYPE, nullable: true };
  return {
    name: viewColumnName(declared.name, null),
    type: JSON_TYPE,
    nullable: true,
    primary_key: false,
    computed: {
      text: iterator.text,
      expr: base.guard(
        madeRowsExpr({
          call,
          outputs: outputs.map(pick),
          overBase: before,
          own: inReadingOrder(computed, computed).filter((column) => !before.includes(column)),
        }),
      ),
    },
    comment: null,
    custom_metadata: null,
    renamed_from: wasNamed === declared.name ? null : viewColumnName(wasNamed, null),
    is_hidden: true,
    view: declared.name,
    source: declared.source,
  };
}

interface MadeColumn {
  readonly name: string;
  readonly expr: Expr;
}

/** Columns of made rows and those that they read, each after those that it reads. */
function inReadingOrder(columns: readonly MadeColumn[], all: readonly MadeColumn[]): readonly MadeColumn[] {
  const byName = new Map(all.map((column) => [column.name, column]));
  const ordered = new Set<MadeColumn>();
  const add = (column: MadeColumn): void => {
    if (ordered.has(column)) return;
    for (const read of referencedColumns(ofMadeRow(column.expr, () => ""))) {
      const other = byName.get(read);
      if (other !== undefined && other !== column) add(other);
    }
    ordered.add(column);
  };
  for (const column of columns) add(column);
  return [...ordered];
}
