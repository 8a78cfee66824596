import type { ExactObject } from "@appdb/contract/clients/exact-json";
import type { Database } from "@appdb/contract/routes/control-databases";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { type ReactNode, useState } from "react";
import { Alert, ProblemAlert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { plural } from "../../ui/format.ts";
import { Empty, Loading } from "../../ui/table.tsx";
import { DeleteRowsDialog } from "./delete-rows-dialog.tsx";
import { RowView } from "./row-view.tsx";
import { RowsGrid } from "./rows-grid.tsx";
import { type RowFilter, useRows } from "./use-tables.ts";

interface RowsTableProps {
  readonly database: Database;
  readonly table: DataTable;
  readonly filter: RowFilter;
  /** Whether the condition's rows are still being counted. Until then a problem of the rows may be one of the condition,
   *  which is shown at its field. */
  readonly is_counting: boolean;
  /** Whether rows can be selected, changed and deleted. */
  readonly is_writable: boolean;
  /** Actions on the rows, next to the page navigation. */
  readonly actions: ReactNode;
  readonly onSort: (orderBy: string | undefined) => void;
}

/** The rows of a table by pages. Each row opens in full. */
export function RowsTable(props: RowsTableProps) {
  const { database, table, filter, is_counting: isCounting, is_writable: isWritable, actions, onSort } = props;
  /** Each page's cursor, and the rows before it. The first page has no cursor. Page sizes vary. */
  const [begun, setBegun] = useState<readonly { readonly cursor: string; readonly behind: number }[]>([]);
  const [opened, setOpened] = useState<ExactObject | undefined>(undefined);
  const [selected, setSelected] = useState<ReadonlyMap<string, ExactObject>>(new Map());
  const [deleting, setDeleting] = useState<readonly ExactObject[]>([]);
  const [deleted, setDeleted] = useState<number | undefined>(undefined);
  const read = useRows(database, table.path, { cursor: begun.at(-1)?.cursor, filter });
  const { page, is_loading: isLoading, again } = read;
  const error = isCounting ? null : read.error;
  const first = (begun.at(-1)?.behind ?? 0) + 1;
  const next = page?.next ?? null;
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p aria-live="polite" className="text-sm text-muted tabular-nums">
          {page !== undefined && page.rows.length > 0 && `Rows ${first} to ${first + page.rows.length - 1}`}
        </p>
        <div className="flex flex-wrap gap-2">
          {selected.size > 0 && (
            <Button small look="leads_to_danger" onClick={() => setDeleting([...selected.values()])}>
              Delete {plural(selected.size, "selected row")}
            </Button>
          )}
          <Button small busy={isLoading} onClick={again}>
            Reload
          </Button>
          {actions}
        </div>
      </div>
      {deleted !== undefined && <Alert kind="good" title={`${plural(deleted, "row")} deleted.`} />}
      {error && <ProblemAlert error={error} />}
      {page === undefined && !error && <Loading />}
      {page !== undefined && page.rows.length === 0 && (
        <div className="rounded-lg border border-dashed border-line px-6 py-10">
          <Empty title={filter.where === undefined ? "No rows" : "No row matches the condition"} />
        </div>
      )}
      {page !== undefined && page.rows.length > 0 && (
        <RowsGrid
          table={table}
          rows={page.rows}
          first={first}
          order_by={filter.order_by}
          selected={isWritable ? selected : undefined}
          onSelect={setSelected}
          onSort={(orderBy) => {
            // a place in one order is none in another
            setBegun([]);
            onSort(orderBy);
          }}
          onOpen={setOpened}
        />
      )}
      {(begun.length > 0 || next !== null) && (
        <div className="flex gap-2">
          <Button small disabled={begun.length === 0} onClick={() => setBegun(begun.slice(0, -1))}>
            Previous
          </Button>
          <Button
            small
            disabled={next === null}
            busy={isLoading}
            onClick={() => {
              if (next !== null) setBegun([...begun, { cursor: next, behind: first - 1 + (page?.rows.length ?? 0) }]);
            }}
          >
            Next
          </Button>
        </div>
      )}
      {opened && (
        <RowView
          database={database}
          table={table}
          row={opened}
          is_writable={isWritable}
          onClose={() => setOpened(undefined)}
          onDelete={(row) => {
            setOpened(undefined);
            setDeleting([row]);
          }}
        />
      )}
      {deleting.length > 0 && (
        <DeleteRowsDialog
          database={database}
          table={table}
          rows={deleting}
          onClose={() => setDeleting([])}
          onDeleted={(count) => {
            setDeleting([]);
            setSelected(new Map());
            setDeleted(count);
          }}
        />
      )}
    </div>
  );
}
