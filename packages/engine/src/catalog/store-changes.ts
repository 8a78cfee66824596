import type { SqlConnection } from "../ports.ts";

/** Maximum number of remembered versions. A plan is applied minutes after it was made, or never. */
const KEPT = 1_000;

/** One change of a table or folder. */
export interface ChangeLine {
  /** Within the database. */
  readonly path: string;
  /** As a sentence with the path. */
  readonly what: string;
  /** As a person would ask for it: `add column summary`. */
  readonly change: string;
}

/** Stores changes in their transaction. `madeBy`: the application file, if it is known. */
export async function storeChanges(
  sql: SqlConnection,
  version: number,
  lines: readonly ChangeLine[],
  madeBy: string | null,
): Promise<void> {
  await sql.query({
    text: `insert into appdb.changes (version, what, path, change, made_by)
      select $1::bigint, t.what, t.path, t.change, $5 from unnest($2::text[], $3::text[], $4::text[])
        with ordinality as t(what, path, change, at) order by t.at`,
    values: [
      version,
      lines.map(({ what }) => what),
      lines.map(({ path }) => path),
      lines.map(({ change }) => change),
      madeBy,
    ],
  });
  await sql.query({ text: "delete from appdb.changes where version <= $1::bigint", values: [version - KEPT] });
}
