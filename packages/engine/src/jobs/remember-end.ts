import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { isShadow, shadowsOf } from "../catalog/shadow-columns.ts";
import { columnPath, viewOfRows } from "../catalog/sql-names.ts";
import { type ChangeLine, storeChanges } from "../catalog/store-changes.ts";
import type { SqlConnection } from "../ports.ts";
import type { JobError } from "./job-store.ts";

interface FailedColumns {
  /** The columns of the job and those that read them. */
  readonly dropped: readonly CatalogColumn[];
  /** The columns with their previous values and expressions. */
  readonly restored: readonly CatalogColumn[];
}

/** Adds to the history what the end of a failed or cancelled job has undone: the update that asked for it stays there. */
export async function rememberFailed(
  sql: SqlConnection,
  version: number,
  table: CatalogTable,
  { dropped, restored }: FailedColumns,
  { code }: Pick<JobError, "code">,
): Promise<void> {
  const why = code === "job_cancelled" ? "its job was cancelled" : "its job failed";
  const shadowed = shadowsOf(table).filter(({ shadow }) => dropped.includes(shadow));
  const kept = [...restored, ...shadowed.map(({ column }) => column)];
  const lines = [
    ...linesOf(
      table,
      dropped.filter((column) => !isShadow(column)),
      { verb: "drop", past: "was dropped", why },
    ),
    ...linesOf(table, kept, { verb: "restore", past: "was restored", why }),
  ];
  if (lines.length > 0) await storeChanges(sql, version, lines, null);
}

interface Words {
  readonly verb: string;
  readonly past: string;
  readonly why: string;
}

function linesOf(table: CatalogTable, columns: readonly CatalogColumn[], { past, verb, why }: Words): ChangeLine[] {
  const seen = columns.filter(({ is_hidden: isHidden, name }) => isHidden !== true && viewOfRows(name) === undefined);
  return seen.map(({ name }) => {
    const [of = "", column = name] = columnPath(table.name, name).split(".");
    const path = table.folder === "public" ? of : `${table.folder}/${of}`;
    return {
      path,
      what: `${path}: column '${column}' ${past}, because ${why}`,
      change: `${verb} column ${column} (${why})`,
    };
  });
}
