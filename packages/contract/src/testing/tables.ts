import type { DataColumn, DataTable } from "../routes/data-api.ts";

/** A column of the data API for tests. */
export function dataColumn(name: string, type: string, parts: Partial<DataColumn> = {}): DataColumn {
  return { name, type, is_key: false, is_computed: false, value: null, comment: null, ...parts };
}

/** A table of the data API with a key for tests. */
export function dataTable(path: string, parts: Partial<DataTable> = {}): DataTable {
  return {
    path,
    view_of: null,
    rows_by: null,
    comment: null,
    columns: [dataColumn("id", "Int", { is_key: true })],
    indexes: [],
    rows: 1,
    is_rows_estimated: false,
    errors: 0,
    bytes: 8_192,
    is_broken: false,
    ...parts,
  };
}
