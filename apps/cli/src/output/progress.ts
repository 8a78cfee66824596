import type { Progress } from "@appdb/contract/routes/local";
import { count } from "./count.ts";
import type { Output } from "./output.ts";

/** Shows the progress of fills and recomputes on stderr; as JSON lines for programs. */
export function showProgress(
  out: Output,
  json: boolean,
  verb: "filling" | "computing" = "filling",
): (progress: Progress) => void {
  return (progress) => {
    if (json) {
      out.note(JSON.stringify(progress));
      return;
    }
    const { table, column, rows_done: rowsDone, errors } = progress;
    // rows inserted meanwhile are filled too but were not counted at the start
    const rowsTotal = Math.max(progress.rows_total, rowsDone);
    const percent = rowsTotal === 0 ? 100 : Math.floor((rowsDone / rowsTotal) * 100);
    const failed = errors === 0 ? "" : `, ${count(errors, "cell")} failed`;
    // a column of a view has the name of its view already
    const name = column.includes(".") ? column : `${table}.${column}`;
    // the last transaction puts the values in place
    const ending = percent === 100 ? ", putting values in place" : "";
    out.status(`${verb} ${name}: ${rowsDone} of ${rowsTotal} rows (${percent} %)${failed}${ending}`);
  };
}
