import type { DataTable } from "@appdb/contract/routes/data-api";
import { Empty, ListTable } from "../../ui/table.tsx";
import { cellJson, type ImportFile, type Mapping, mappedColumns } from "./read-import.ts";

/** Rows that are shown. */
const SHOWN = 5;
const MAX_CHARACTERS = 80;

interface ImportPreviewProps {
  readonly table: DataTable;
  readonly file: ImportFile;
  readonly mapping: Mapping;
}

/** The first rows of a file as the table gets them. */
export function ImportPreview({ table, file, mapping }: ImportPreviewProps) {
  const mapped = mappedColumns(table, file, mapping);
  return (
    <div className="grid grid-cols-1 gap-2">
      <h2 className="text-base font-semibold">The first rows</h2>
      <ListTable
        caption={`The first rows of ${file.name}`}
        list={{ items: file.records.slice(0, SHOWN), error: null, more: undefined, loading_more: false }}
        keyOf={({ line }) => String(line)}
        columns={[
          { title: "Line", names_row: true, cell: ({ line }) => line },
          ...mapped.map(([from, column]) => ({
            title: column.name,
            cell: ({ cells }: ImportFile["records"][number]) => {
              const cell = cells.get(from);
              const text = cell === undefined ? "" : cellJson(column, cell);
              return <code className="text-xs break-all">{shortened(text)}</code>;
            },
          })),
        ]}
        empty={<Empty title="No rows" />}
      />
    </div>
  );
}

function shortened(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}
