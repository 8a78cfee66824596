import type { ExactObject } from "@appdb/contract/clients/exact-json";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { DatabaseFrame } from "../features/databases/database-frame.tsx";
import { useDatabase } from "../features/databases/use-database.ts";
import { may, useOrg } from "../features/organizations/use-org.ts";
import { Asleep } from "../features/tables/asleep.tsx";
import { ColumnsTable } from "../features/tables/columns-table.tsx";
import { InsertDialog } from "../features/tables/insert-dialog.tsx";
import { RowDialog } from "../features/tables/row-dialog.tsx";
import { RowsFilter } from "../features/tables/rows-filter.tsx";
import { RowsTable } from "../features/tables/rows-table.tsx";
import { type RowFilter, useRowCount, useTable } from "../features/tables/use-tables.ts";
import { ExportDialog } from "../features/transfer/export-dialog.tsx";
import { ProblemAlert } from "../ui/alert.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { formatBytes, plural } from "../ui/format.ts";
import { PlusIcon } from "../ui/icons.tsx";
import { Section } from "../ui/page.tsx";
import { Loading } from "../ui/table.tsx";
import { TextLink } from "../ui/text-link.tsx";

const route = getRouteApi("/signed-in/orgs/$org/databases/$db/tables/$table");

/** A table with its rows and columns. */
export function TablePage() {
  const org = useOrg();
  const { table: path } = route.useParams();
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const { database, error } = useDatabase();
  const table = useTable(database, path);
  const [exporting, setExporting] = useState(false);
  const [inserting, setInserting] = useState(false);
  const [inserted, setInserted] = useState<ExactObject | undefined>(undefined);
  const isAwake = database.state === "AVAILABLE";
  const params = { org: org.name, db: database.name };
  const counted = useRowCount(database, path, filter.where);
  const change = (changed: RowFilter) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true, resetScroll: false });
  const isWritable = may(org, "data.write") && table.data?.view_of === null;
  const hasKey = table.data?.columns.some((column) => column.is_key) === true;
  return (
    <DatabaseFrame database={database} error={error} about={`table ${path}`}>
      <div className="grid gap-1">
        <p className="flex flex-wrap items-center gap-2 text-base">
          <TextLink to="/orgs/$org/databases/$db/tables" params={params}>
            Tables
          </TextLink>
          <span aria-hidden="true" className="text-field">
            /
          </span>
          <span className="font-semibold break-words">{path}</span>
        </p>
        {table.data && (
          <p className="flex flex-wrap items-center gap-2 text-sm text-muted">
            {table.data.is_rows_estimated && "~"}
            {plural(table.data.rows, "row")}, {formatBytes(table.data.bytes)}
            {table.data.view_of !== null && <Badge>view of {table.data.view_of}</Badge>}
            {table.data.errors > 0 && <Badge tone="danger">{plural(table.data.errors, "failed cell")}</Badge>}
          </p>
        )}
      </div>
      {!isAwake && <Asleep database={database} />}
      {isAwake && table.error && <ProblemAlert error={table.error} />}
      {isAwake && !table.error && table.data === undefined && <Loading />}
      {isAwake && !table.error && table.data && (
        <>
          <RowsFilter
            key={path}
            table={table.data}
            where={filter.where}
            counted={counted}
            onFilter={(where) => change({ where })}
          />
          {counted.error === null && (
            <RowsTable
              key={JSON.stringify([path, filter.where])}
              database={database}
              table={table.data}
              filter={filter}
              is_counting={filter.where !== undefined && counted.isPending}
              is_writable={isWritable && hasKey}
              onSort={(orderBy) => change({ order_by: orderBy })}
              actions={
                <>
                  <Button small onClick={() => setExporting(true)}>
                    Export
                  </Button>
                  {isWritable && (
                    <>
                      <span className="self-center text-sm">
                        <TextLink
                          to="/orgs/$org/databases/$db/tables/$table/import"
                          params={{ ...params, table: path }}
                        >
                          Import a file
                        </TextLink>
                      </span>
                      <Button small look="primary" onClick={() => setInserting(true)}>
                        <PlusIcon />
                        Insert a row
                      </Button>
                    </>
                  )}
                </>
              }
            />
          )}
          <Section title="Columns">
            <ColumnsTable table={table.data} />
          </Section>
          {exporting && (
            <ExportDialog database={database} table={table.data} filter={filter} onClose={() => setExporting(false)} />
          )}
          {inserting && (
            <InsertDialog
              database={database}
              table={table.data}
              onClose={() => setInserting(false)}
              onInserted={(row) => {
                setInserting(false);
                setInserted(row);
              }}
            />
          )}
          {inserted && (
            <RowDialog
              table={table.data}
              row={inserted}
              title={`Inserted into ${path}`}
              onClose={() => setInserted(undefined)}
            />
          )}
        </>
      )}
    </DatabaseFrame>
  );
}
