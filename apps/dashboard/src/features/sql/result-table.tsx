import { classNames } from "../../ui/class-names.ts";
import { Empty } from "../../ui/table.tsx";
import { CellValue } from "../tables/value.tsx";
import { isNumeric, type SqlResult } from "./read-messages.ts";

/** The rows of a statement. */
export function ResultTable({ result: { columns, rows } }: { readonly result: SqlResult }) {
  if (rows.length === 0) {
    return (
      <div className="rounded-lg border border-dashed border-line px-6 py-10">
        <Empty title="The result has no rows" />
      </div>
    );
  }
  const numeric = columns.map((_, at) => isNumeric(rows, at));
  return (
    <section
      aria-label="Result"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
      tabIndex={0}
      // contains elements for screen readers, which must not widen the page
      className="relative max-h-[max(24rem,calc(100dvh-12rem))] overflow-auto rounded-lg border border-line bg-surface"
    >
      <table className="w-full border-separate border-spacing-0 text-sm">
        <caption className="sr-only">Result</caption>
        <thead>
          <tr className="text-left">
            {columns.map(({ kind, name }, at) => (
              <th
                // biome-ignore lint/suspicious/noArrayIndexKey: columns of a result can share a name
                key={at}
                scope="col"
                className={classNames(
                  "sticky top-0 border-b border-line bg-surface px-3.5 py-2 font-medium whitespace-nowrap",
                  numeric[at] && "text-right",
                )}
              >
                {name}
                <span className="block font-mono text-xs font-normal text-muted">{kind}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of a result have no identity
            <tr key={at}>
              {row.map((value, column) => (
                <td
                  // biome-ignore lint/suspicious/noArrayIndexKey: cells are in the order of the columns
                  key={column}
                  className={classNames("border-b border-line px-3.5 py-2", numeric[column] && "text-right")}
                >
                  <CellValue value={value} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
