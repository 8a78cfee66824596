import type { SqlResult, Statement } from "../ports.ts";
import type { StatementPool } from "../timing.ts";

/** What a graph of vectors keeps in sight while it is searched, as every session has it: more finds more of the rows that
 *  are truly nearest, and takes longer (`hnsw.ef_search`). */
export const IN_SIGHT = 100;
/** The most that pgvector takes. */
const MOST_IN_SIGHT = 1_000;

/** Runs a statement that may search a graph of vectors for so many rows: no fewer are kept in sight. */
export function searchNearest(sql: StatementPool, rows: number, statement: Statement): Promise<SqlResult> {
  if (rows <= IN_SIGHT) return sql.query(statement);
  return sql.transaction(async (connection) => {
    await connection.query({ text: `set local hnsw.ef_search = ${Math.min(rows, MOST_IN_SIGHT)}` });
    return connection.query(statement);
  });
}
