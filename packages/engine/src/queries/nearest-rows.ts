import type { SqlResult, Statement } from "../ports.ts";
import type { StatementPool } from "../timing.ts";

/** The search list size of a vector graph in every session (`hnsw.ef_search`). A larger one finds more of the truly
 *  nearest rows and takes longer. */
export const IN_SIGHT = 100;
/** pgvector's maximum. */
const MAX_IN_SIGHT = 1_000;

/** A statement's search in a vector graph. */
export interface NearestSearch {
  /** Number of requested rows; the search list is at least this long. */
  readonly searched: number;
  /** Conditions skip some of the found rows, so the search continues until there are enough. */
  readonly is_filtered: boolean;
}

/** Runs a statement that may search a vector graph; null for one that does not. */
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
