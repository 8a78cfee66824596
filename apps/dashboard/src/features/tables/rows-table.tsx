import type { ExactObject } from "@appdb/contract/clients/exact-json";
import type { Database } from "@appdb/contract/routes/control-databases";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { type ReactNode, useState } from "react";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { classNames } from "../../ui/class-names.ts";
import { Empty, Loading } from "../../ui/table.tsx";
import { FileCellView } from "../files/file-view.tsx";
import { cellFailure, cellFile } from "./read-rows.ts";
import { RowDialog } from "./row-dialog.tsx";
import { useRows } from "./use-tables.ts";
import { CellValue, shortText } from "./value.tsx";

interface RowsTableProps {
  readonly database: Database;
  readonly table: DataTable;
  /** Actions on the rows, next to the page navigation. */
  readonly actions: ReactNode;
}

/** The rows of a table by pages. Each row opens in full. */
export function RowsTable({ database, table, actions }: RowsTableProps) {
  /** Each page's cursor, and the rows before it. The first page has no cursor. Page sizes vary. */
  const [begun, setBegun] = useState<readonly { readonly cursor: string; readonly behind: number }[]>([]);
  const [opened, setOpened] = useState<ExactObject | undefined>(undefined);
  const { page, error, is_loading: isLoading, again } = useRows(database, table.path, begun.at(-1)?.cursor);
  const first = (begun.at(-1)?.behind ?? 0) + 1;
  const next = page?.next ?? null;
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p aria-live="polite" className="text-sm text-muted tabular-nums">
          {page !== undefined && page.rows.length > 0 && `Rows ${first} to ${first + page.rows.length - 1}`}
        </p>
        <div className="flex flex-wrap gap-2">
          <Button small busy={isLoading} onClick={again}>
            Reload
          </Button>
          {actions}
        </div>
      </div>
      {error && <ProblemAlert error={error} />}
      {page === undefined && !error && <Loading />}
      {page !== undefined && page.rows.length === 0 && (
        <div className="rounded-lg border border-dashed border-line px-6 py-10">
          <Empty title="No rows" />
        </div>
      )}
      {page !== undefined && page.rows.length > 0 && (
        <Grid table={table} rows={page.rows} first={first} onOpen={setOpened} />
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
      {opened && <RowDialog table={table} row={opened} onClose={() => setOpened(undefined)} />}
    </div>
  );
}

interface GridProps {
  readonly table: DataTable;
  readonly rows: readonly ExactObject[];
  readonly first: number;
  readonly onOpen: (row: ExactObject) => void;
}

function Grid({ table, rows, first, onOpen }: GridProps) {
  const { columns, path } = table;
  const keys = columns.filter((column) => column.is_key);
  const others = columns.filter((column) => !column.is_key);
  const keyOf = (row: ExactObject, index: number) =>
    keys.length === 0 ? `${index}` : keys.map(({ name }) => shortText(row.get(name) ?? null)).join(", ");
  return (
    <section
      aria-label={`Rows of ${path}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
      tabIndex={0}
      // contains elements for screen readers, which must not widen the page
      className="relative max-h-[max(24rem,calc(100dvh-12rem))] overflow-auto rounded-lg border border-line bg-surface"
    >
      <table className="w-full border-separate border-spacing-0 text-sm">
        <caption className="sr-only">Rows of {path}</caption>
        <thead>
          <tr className="text-left">
            <Head is_first title={keys.length === 0 ? "Row" : keys.map(({ name }) => name).join(", ")} type="key" />
            {others.map(({ name, type }) => (
              <Head key={name} title={name} type={type} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => {
            const key = keyOf(row, first + index);
            return (
              <tr key={key} className="group">
                <th
                  scope="row"
                  className="sticky left-0 border-r border-b border-line bg-surface px-3.5 py-2 pl-4 text-left font-medium group-last:border-b-0"
                >
                  <button
                    type="button"
                    className="block max-w-44 truncate font-mono text-xs text-accent underline decoration-accent/40 underline-offset-3 hover:decoration-accent"
                    onClick={() => onOpen(row)}
                  >
                    <span className="sr-only">Open row </span>
                    {key}
                  </button>
                </th>
                {others.map(({ name, type }) => (
                  <td
                    key={name}
                    className={classNames(
                      "border-b border-line px-3.5 py-2 group-last:border-b-0",
                      isNumeric(type) && "text-right",
                    )}
                  >
                    <Cell row={row} column={name} type={type} />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

interface HeadProps {
  readonly title: string;
  readonly type: string;
  /** Whether it stays visible at the left. */
  readonly is_first?: boolean;
}

function Head({ title, type, is_first: isFirst = false }: HeadProps) {
  return (
    <th
      scope="col"
      className={classNames(
        "sticky top-0 border-b border-line bg-surface px-3.5 py-2 font-medium whitespace-nowrap first:pl-4",
        isFirst && "left-0 z-2 border-r",
        !isFirst && "z-1",
        isNumeric(type) && "text-right",
      )}
    >
      {title}
      <span className="block max-w-44 truncate font-mono text-xs font-normal text-muted">{type}</span>
    </th>
  );
}

interface CellProps {
  readonly row: ExactObject;
  readonly column: string;
  readonly type: string;
}

function Cell({ row, column, type }: CellProps) {
  const failure = cellFailure(row, column);
  if (failure === "pending") return <Badge tone="accent">pending</Badge>;
  if (failure !== undefined) return <Badge tone="danger">failed</Badge>;
  const file = cellFile(row, column, type);
  return file === undefined ? <CellValue value={row.get(column)} /> : <FileCellView file={file} />;
}

function isNumeric(type: string): boolean {
  return /^(Int|Float)\b/.test(type);
}
