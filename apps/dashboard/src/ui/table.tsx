import type { ReactNode } from "react";
import type { List } from "../api/use-list.ts";
import { ProblemAlert } from "./alert.tsx";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";

interface Column<Row> {
  /** The column's header; `""` for buttons. */
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** Whether its cell names the row. */
  readonly names_row?: boolean;
  readonly align_right?: boolean;
}

interface ListTableProps<Row> {
  /** What the table lists, for screen readers. */
  readonly caption: string;
  readonly list: List<Row>;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** Shown if there are no rows. */
  readonly empty: ReactNode;
}

/** A list of the server as a table: its rows, that they are loading, an error, or that there are none. */
export function ListTable<Row>({ caption, list, columns, keyOf, empty }: ListTableProps<Row>) {
  const { items, error } = list;
  if (error) return <ProblemAlert error={error} />;
  if (items === undefined) return <Loading />;
  if (items.length === 0) return <div className="rounded-lg border border-dashed border-line px-6 py-10">{empty}</div>;
  return (
    <div className="grid gap-3">
      {/* wide tables scroll sideways in their frame, also by keyboard */}
      <section
        aria-label={caption}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
        tabIndex={0}
        // contains elements for screen readers, which must not widen the page
        className="relative overflow-x-auto rounded-lg border border-line bg-surface"
      >
        <table className="w-full border-collapse text-sm">
          <caption className="sr-only">{caption}</caption>
          <thead>
            <tr className="border-b border-line text-left">
              {columns.map((column) => (
                <th
                  key={column.title}
                  scope="col"
                  className={classNames(
                    "px-3.5 py-2.5 font-medium whitespace-nowrap text-muted first:pl-4 last:pr-3",
                    column.align_right && "text-right",
                  )}
                >
                  {column.title || <span className="sr-only">Actions</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items.map((row) => (
              <tr key={keyOf(row)} className="border-b border-line last:border-0">
                {columns.map((column) => (
                  <Cell key={column.title} column={column} row={row} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {list.more && (
        <div>
          <Button busy={list.loading_more} onClick={list.more}>
            Show more
          </Button>
        </div>
      )}
    </div>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const classes = classNames("px-3.5 py-3 align-middle first:pl-4 last:pr-3", column.align_right && "text-right");
  if (!column.names_row) return <td className={classes}>{column.cell(row)}</td>;
  return (
    <th scope="row" className={classNames(classes, "text-left font-medium")}>
      {column.cell(row)}
    </th>
  );
}

export function Loading() {
  return (
    <p role="status" className="py-8 text-sm text-muted">
      Loading ...
    </p>
  );
}

/** Buttons of a row, at its end. */
export function RowButtons({ children }: { readonly children: ReactNode }) {
  return <div className="flex justify-end gap-1.5">{children}</div>;
}

/** Shown for an empty list: the reason and the first step. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="mx-auto grid max-w-md justify-items-center gap-2 text-center">
      <p className="font-medium">{title}</p>
      <div className="text-sm text-muted">{children}</div>
    </div>
  );
}
