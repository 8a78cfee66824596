import { loadCatalog } from "../catalog/load-catalog.ts";
import { SqlError } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import type { JobDeps } from "./job-deps.ts";

/**
 * Updates PostgreSQL's planner statistics of a table, which autovacuum would do only after a minute or so. Until then
 * it has no statistics of a new column or of a new index's columns, and scans whole tables.
 */
export async function analyzeTable(deps: Pick<JobDeps, "sql" | "log">, tableId: number): Promise<void> {
  const table = (await loadCatalog(deps.sql)).tables.find((candidate) => candidate.id === tableId);
  if (table === undefined) return;
  try {
    await deps.sql.query({ text: `analyze ${quoteTable(table)}` });
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    // The table was dropped meanwhile, or is locked: autovacuum analyses it later.
    deps.log.debug({ table: table.name, sqlstate: error.sqlstate }, "a table was not analysed");
  }
}
