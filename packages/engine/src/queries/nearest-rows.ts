import type { SqlResult, Statement } from "../ports.ts";
import type { StatementPool } from "../timing.ts";

/** What a graph of vectors keeps in sight while it is searched, as every session has it: more finds more of the rows that
 *  are truly nearest, and takes longer (`hnsw.ef_search`). */
export const IN_SIGHT = 100;
/** The most that pgvector takes. */
const MAX_IN_SIGHT = 1_000;

/** What a statement asks of a graph of vectors. */
export interface NearestSearch {
  /** Rows that are looked for: no fewer are kept in sight. */
  readonly searched: number;
  /** Conditions leave some of the rows out that are found: the search goes on until there are enough. */
  readonly is_filtered: boolean;
}

/** Runs a statement that may search a graph of vectors; null for one that does not. */
export function searchNearest(
  sql: StatementPool,
  search: NearestSearch | null,
  statement: Statement,
): Promise<SqlResult> {
  if (search === null || (search.searched <= IN_SIGHT && !search.is_filtered)) return sql.query(statement);
  const inSight = Math.min(Math.max(search.searched, IN_SIGHT), MAX_IN_SIGHT);
  return sql.transaction(async (connection) => {
    await connection.query({
      text: "select set_config('hnsw.ef_search', $1, true), set_config('hnsw.iterative_scan', $2, true)",
      name: "appdb.search_nearest",
      values: [String(inSight), search.is_filtered ? "strict_order" : "off"],
    });
    return connection.query(statement);
  });
}
