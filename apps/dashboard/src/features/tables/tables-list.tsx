import type { Database } from "@appdb/contract/routes/control-databases";
import { Badge } from "../../ui/badge.tsx";
import { Command } from "../../ui/command.tsx";
import { formatBytes, formatCount, plural } from "../../ui/format.ts";
import { Empty, ListTable } from "../../ui/table.tsx";
import { TextLink } from "../../ui/text-link.tsx";
import { useTables } from "./use-tables.ts";

export function TablesList({ database }: { readonly database: Database }) {
  const { name, organization, project, uri } = database;
  const tables = useTables(database);
  return (
    <>
      <ListTable
        caption="Tables"
        list={tables}
        keyOf={(table) => table.path}
        columns={[
          {
            title: "Table",
            names_row: true,
            cell: ({ path, view_of: viewOf }) => (
              <>
                <TextLink
                  to="/orgs/$org/databases/$db/tables/$table"
                  params={{ org: organization, db: name, table: path }}
                >
                  {path}
                </TextLink>
                {viewOf !== null && <Badge>view</Badge>}
              </>
            ),
          },
          { title: "Columns", cell: ({ columns }) => formatCount(columns.length) },
          {
            title: "Rows",
            align_right: true,
            cell: ({ rows }) => <span className="tabular-nums">{formatCount(rows)}</span>,
          },
          {
            title: "Failed cells",
            align_right: true,
            cell: ({ errors }) => (errors === 0 ? "0" : <Badge tone="danger">{formatCount(errors)}</Badge>),
          },
          {
            title: "Size",
            align_right: true,
            cell: ({ bytes }) => <span className="whitespace-nowrap tabular-nums">{formatBytes(bytes)}</span>,
          },
        ]}
        empty={
          <Empty title="No table yet">
            <div className="grid justify-items-center gap-3">
              <p>Tables come from an application file, once the project is uploaded. In the project's folder, run:</p>
              {project === null && <Command text={`cli db update ${uri}`} />}
              <Command text={`cli schema update app.py ${uri}`} />
            </div>
          </Empty>
        }
      />
      {tables.items !== undefined && tables.items.length > 0 && (
        <p className="text-sm text-muted">
          {plural(tables.items.length, "table")}, created by <Command text={`cli schema update app.py ${uri}`} />
        </p>
      )}
    </>
  );
}
