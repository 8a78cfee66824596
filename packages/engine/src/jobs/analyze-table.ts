import { loadCatalog } from "../catalog/load-catalog.ts";
import { SqlError } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import type { JobDeps } from "./job-deps.ts";

/**
 * Counts a table's values for PostgreSQL's planner, which would come to it by itself after a minute or so. Until then it
 * knows nothing of a new column or of what a new index is over, and reads whole tables that an index serves.
 */
export async function analyzeTable(deps: Pick<JobDeps, "sql" | "log">, tableId: number): Promise<void> {
  const table = (await loadCatalog(deps.sql)).tables.find((candidate) => candidate.id === tableId);
  if (table === undefined) return;
  try {
    await deps.sql.query({ text: `analyze ${quoteTable(table)}` });
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    // Dropped meanwhile, or somebody else holds it: the planner's own count comes later.
    deps.log.debug({ table: table.name, sqlstate: error.sqlstate }, "a table was not analysed");
  }
}
