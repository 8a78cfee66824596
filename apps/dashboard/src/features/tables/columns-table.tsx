import type { DataTable } from "@appdb/contract/routes/data-api";
import { Badge } from "../../ui/badge.tsx";
import { Empty, ListTable } from "../../ui/table.tsx";

export function ColumnsTable({ table }: { readonly table: DataTable }) {
  return (
    <ListTable
      caption={`Columns of ${table.path}`}
      list={{ items: table.columns, error: null, more: undefined, loading_more: false }}
      keyOf={(column) => column.name}
      columns={[
        {
          title: "Column",
          names_row: true,
          cell: ({ name, is_key: isKey }) => (
            <span className="inline-flex flex-wrap items-center gap-2">
              <code>{name}</code>
              {isKey && <Badge tone="accent">key</Badge>}
            </span>
          ),
        },
        { title: "Type", cell: ({ type }) => <code className="text-xs break-words">{type}</code> },
        {
          title: "Value",
          cell: ({ is_computed: isComputed, value }) =>
            isComputed ? (
              <span className="flex flex-wrap items-baseline gap-2">
                <Badge>computed</Badge>
                <code className="min-w-0 text-xs break-words">{value}</code>
              </span>
            ) : (
              <span className="text-muted">given</span>
            ),
        },
      ]}
      empty={<Empty title="No columns" />}
    />
  );
}
