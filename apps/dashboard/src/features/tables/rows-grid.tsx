import type { ExactObject } from "@appdb/contract/clients/exact-json";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { Badge } from "../../ui/badge.tsx";
import { classNames } from "../../ui/class-names.ts";
import { FileCellView } from "../files/file-view.tsx";
import { cellFailure, cellFile } from "./read-rows.ts";
import { keyTexts } from "./row-key.ts";
import { isSortable, nextOrder, orderOf } from "./row-order.ts";
import { CellValue, shortText } from "./value.tsx";

interface GridProps {
  readonly table: DataTable;
  readonly rows: readonly ExactObject[];
  /** Number of the first row. */
  readonly first: number;
  readonly order_by: string | undefined;
  /** Selected rows by their keys; undefined if rows cannot be selected. */
  readonly selected: ReadonlyMap<string, ExactObject> | undefined;
  readonly onSelect: (selected: ReadonlyMap<string, ExactObject>) => void;
  readonly onSort: (orderBy: string | undefined) => void;
  readonly onOpen: (row: ExactObject) => void;
}

/** A page of rows, whose headers sort. */
export function RowsGrid({ table, rows, first, order_by: orderBy, selected, onSelect, onSort, onOpen }: GridProps) {
  const { columns, path } = table;
  const keys = columns.filter((column) => column.is_key);
  const others = columns.filter((column) => !column.is_key);
  const select = (key: string, row: ExactObject, isSelected: boolean) => {
    const changed = new Map(selected);
    if (isSelected) changed.set(key, row);
    else changed.delete(key);
    onSelect(changed);
  };
  const [onlyKey] = keys;
  const keyOf = (row: ExactObject, index: number) =>
    keys.length === 0 ? `${index}` : keys.map(({ name }) => shortText(row.get(name) ?? null)).join(", ");
  const sortBy = { order_by: orderBy, onSort };
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
            {keys.length === 1 && onlyKey !== undefined ? (
              <Head is_first title={onlyKey.name} type="key" {...sortBy} is_sortable={isSortable(onlyKey)} />
            ) : (
              <Head is_first title={keys.map(({ name }) => name).join(", ") || "Row"} type="key" {...sortBy} />
            )}
            {others.map((column) => (
              <Head
                key={column.name}
                title={column.name}
                type={column.type}
                {...sortBy}
                is_sortable={isSortable(column)}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => {
            const key = keyOf(row, first + index);
            const whole = keys.length === 0 ? key : JSON.stringify(keyTexts(table, row));
            return (
              <tr key={whole} className="group">
                <th
                  scope="row"
                  className="sticky left-0 border-r border-b border-line bg-surface px-3.5 py-2 pl-4 text-left font-medium group-last:border-b-0"
                >
                  <span className="flex items-center gap-2.5">
                    {selected !== undefined && (
                      <input
                        type="checkbox"
                        aria-label={`Select row ${key}`}
                        checked={selected.has(whole)}
                        onChange={(event) => select(whole, row, event.target.checked)}
                      />
                    )}
                    <button
                      type="button"
                      className="block max-w-44 truncate font-mono text-xs text-accent underline decoration-accent/40 underline-offset-3 hover:decoration-accent"
                      onClick={() => onOpen(row)}
                    >
                      <span className="sr-only">Open row </span>
                      {key}
                    </button>
                  </span>
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
  readonly is_sortable?: boolean;
  readonly order_by: string | undefined;
  readonly onSort: (orderBy: string | undefined) => void;
}

const ARROWS = { ascending: "↑", descending: "↓" } as const;

function Head(props: HeadProps) {
  const { title, type, is_first: isFirst = false, is_sortable: canSort = false, order_by: orderBy, onSort } = props;
  const order = canSort ? orderOf(title, orderBy) : undefined;
  return (
    <th
      scope="col"
      aria-sort={order}
      className={classNames(
        "sticky top-0 border-b border-line bg-surface px-3.5 py-2 font-medium whitespace-nowrap first:pl-4",
        isFirst && "left-0 z-2 border-r",
        !isFirst && "z-1",
        isNumeric(type) && "text-right",
      )}
    >
      {canSort ? (
        <button
          type="button"
          className="inline-flex gap-1 font-medium hover:underline"
          onClick={() => onSort(nextOrder(title, orderBy))}
        >
          {title}
          <span aria-hidden="true" className="text-accent">
            {order === undefined ? "" : ARROWS[order]}
          </span>
        </button>
      ) : (
        title
      )}
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
