import { AppError } from "@appdb/contract/errors";
import type { ColumnType, TypeKind } from "@appdb/contract/types";
import type { CatalogColumn } from "@appdb/engine/catalog/catalog";
import { layOutRow } from "@appdb/engine/compute/row-layout";
import { compileJsonChecks } from "@appdb/engine/kinds/json-checks";
import { readRows } from "@appdb/engine/rows/many-rows";
import { compileRowReader } from "@appdb/engine/rows/validate-row";

const LIMITS = { insert_rows: 1_000_000, batch_rows: 1_000 };
const MADE = { uuid7: () => "", uuid4: () => "", now: () => "" };

/**
 * What a table of these columns stores of the lines of a request, or why it refuses them. `columns`: types by name, as
 * people read them: `Int | None`, `Array[(None,), float64]`.
 */
export async function storedLines(
  columns: Readonly<Record<string, string>>,
  lines: readonly string[],
): Promise<readonly (readonly unknown[])[] | AppError> {
  const names = Object.keys(columns);
  const layout = layOutRow({
    id: 1,
    folder: "public",
    name: "t",
    version: 1,
    model: "T",
    comment: null,
    custom_metadata: null,
    primary_key: [],
    has_default_idxs: false,
    identity: "_row",
    has_rows: false,
    columns: names.map((name, at) => columnOf(at + 1, name, columns[name] ?? "")),
    indexes: [],
  });
  const read = compileRowReader(layout, names, await compileJsonChecks([]), MADE);
  const rows: (readonly unknown[])[] = [];
  try {
    for await (const batch of readRows({ kind: "lines", texts: textsOf(lines) }, read, LIMITS))
      rows.push(...batch.rows);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  return rows;
}

async function* textsOf(lines: readonly string[]) {
  yield lines;
}

function columnOf(id: number, name: string, type: string): CatalogColumn {
  return {
    id,
    name,
    type: typeOf(type),
    nullable: type.endsWith(" | None"),
    primary_key: false,
    computed: null,
    state: "ready",
    comment: null,
    custom_metadata: null,
    stale: false,
  };
}

function typeOf(text: string): ColumnType {
  const [, kind = "", depth = "", dtype = ""] = /^(\w+)(?:\[\(([^)]*)\), (\w+)\])?/.exec(text) ?? [];
  if (dtype === "") return { kind: kind.toLowerCase() as Exclude<TypeKind, "array"> } as ColumnType;
  const shape = depth.split(",").flatMap((length) => (length.trim() === "" ? [] : [null]));
  return { kind: "array", dtype, shape } as ColumnType;
}
