import type { ExactObject } from "@appdb/contract/clients/exact-json";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { DatabaseFrame } from "../features/databases/database-frame.tsx";
import { useDatabase } from "../features/databases/use-database.ts";
import { may, useOrg } from "../features/organizations/use-org.ts";
import { Asleep } from "../features/tables/asleep.tsx";
import { ColumnsTable } from "../features/tables/columns-table.tsx";
import { InsertDialog } from "../features/tables/insert-dialog.tsx";
import { RowDialog } from "../features/tables/row-dialog.tsx";
import { RowsTable } from "../features/tables/rows-table.tsx";
import { useTable } from "../features/tables/use-tables.ts";
import { ProblemAlert } from "../ui/alert.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { formatBytes, plural } from "../ui/format.ts";
import { PlusIcon } from "../ui/icons.tsx";
import { Section } from "../ui/page.tsx";
import { Loading } from "../ui/table.tsx";
import { TextLink } from "../ui/text-link.tsx";

/** A table with its rows and columns. */
export function TablePage() {
  const org = useOrg();
  const { table: path } = useParams({ from: "/signed-in/orgs/$org/databases/$db/tables/$table" });
  const { database, error } = useDatabase();
  const table = useTable(database, path);
  const [inserting, setInserting] = useState(false);
  const [inserted, setInserted] = useState<ExactObject | undefined>(undefined);
  const isAwake = database.state === "AVAILABLE";
  const params = { org: org.name, db: database.name };
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
          <RowsTable
            key={path}
            database={database}
            table={table.data}
            actions={
              may(org, "data.write") &&
              table.data.view_of === null && (
                <Button small look="primary" onClick={() => setInserting(true)}>
                  <PlusIcon />
                  Insert a row
                </Button>
              )
            }
          />
          <Section title="Columns">
            <ColumnsTable table={table.data} />
          </Section>
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
