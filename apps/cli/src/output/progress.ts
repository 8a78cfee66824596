import type { Progress } from "@appdb/contract/routes/local";
import type { Output } from "./output.ts";

/** Shows the progress of fills on stderr, for programs as one JSON object a line. */
export function showProgress(out: Output, json: boolean): (progress: Progress) => void {
  return (progress) => {
    if (json) {
      out.note(JSON.stringify(progress));
      return;
    }
    const { table, column, rows_done, rows_total } = progress;
    const percent = rows_total === 0 ? 100 : Math.floor((rows_done / rows_total) * 100);
    out.status(`filling ${table}.${column}: ${rows_done} of ${rows_total} rows (${percent} %)`);
  };
}
