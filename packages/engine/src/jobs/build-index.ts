import type { CatalogIndex, CatalogTable } from "../catalog/catalog.ts";
import { bumpCatalog, deleteIndex, lockCatalog } from "../catalog/catalog-store.ts";
import { createIndex, dropIndex } from "../catalog/ddl.ts";
import { loadDefinitions } from "../catalog/load-catalog.ts";
import type { SqlConnection } from "../ports.ts";
import { SqlError } from "../ports.ts";
import { buildGraph } from "./build-graph.ts";
import { JobLost } from "./fills/fill-context.ts";
import type { JobDeps } from "./job-deps.ts";
import { endJob, type Job, type JobError } from "./job-store.ts";
import { retireIndex } from "./retire-index.ts";

/**
 * Builds an index without blocking writers. PostgreSQL leaves an invalid index behind when stopped halfway; the next
 * run drops it and starts over. If the index is impossible, it is dropped and the job has the reason. A replaced index
 * is used until the job ends.
 */
export async function buildIndex(deps: JobDeps, job: Job, signal: AbortSignal): Promise<void> {
  const catalog = await loadDefinitions(deps.sql);
  const table = catalog.tables.find((candidate) => candidate.id === job.table_id);
  const index = table?.indexes.find((candidate) => candidate.id === job.index_id);
  if (table === undefined || index === undefined) {
    await deps.sql.transaction((connection) => endJob(connection, job, deps.owner, null));
    return;
  }
  try {
    if (!(await isValid(deps.sql, table.folder, index.sql_name))) {
      await deps.sql.query({ text: dropIndex(table.folder, index.sql_name, { concurrently: true }) });
      await create(deps, job, table, index);
    }
  } catch (error) {
    if (!(error instanceof SqlError) || isPassing(error)) throw error;
    if (isUndefinedObject(error)) throw new JobLost("the table or a column was renamed or dropped", { cause: error });
    await deps.sql.query({ text: dropIndex(table.folder, index.sql_name, { concurrently: true }) });
    await deps.sql.transaction(async (connection) => {
      await lockCatalog(connection);
      if (!(await endJob(connection, job, deps.owner, explain(job, index.columns, error)))) return;
      await deleteIndex(connection, index.id);
      await bumpCatalog(connection, [table.id]);
    });
    return;
  }
  const finish = async (connection: SqlConnection): Promise<boolean> => {
    await lockCatalog(connection);
    if (!(await isStillCalled(connection, index.id, index.sql_name))) throw new JobLost("the index was renamed");
    if (!(await endJob(connection, job, deps.owner, null))) return false;
    await connection.query({ text: "update appdb.indexes set state = 'ready' where id = $1", values: [index.id] });
    await bumpCatalog(connection, [table.id]);
    return true;
  };
  if (index.replaces == null) await deps.sql.transaction(finish);
  else await retireIndex(deps, { table_id: table.id, index_id: index.id }, finish, signal);
}

async function create(deps: JobDeps, job: Job, table: CatalogTable, index: CatalogIndex): Promise<void> {
  const text = createIndex(table, index, table.columns, { concurrently: true });
  if (index.embedding == null) await deps.sql.query({ text });
  else await buildGraph(deps, job, { table, dimensions: index.embedding.dimensions, index: index.sql_name, text });
}

async function isValid(sql: SqlConnection, folder: string, sqlName: string): Promise<boolean> {
  const { rows } = await sql.query({
    text: `select i.indisvalid from pg_catalog.pg_index i
      join pg_catalog.pg_class c on c.oid = i.indexrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = $2`,
    values: [folder, sqlName],
  });
  return rows[0]?.[0] === "t";
}

/** A rename during the build does not know the new index. The next run builds it under its new name. */
async function isStillCalled(sql: SqlConnection, id: number, sqlName: string): Promise<boolean> {
  const { rows } = await sql.query({ text: "select sql_name from appdb.indexes where id = $1", values: [id] });
  return rows[0] === undefined || rows[0][0] === sqlName;
}

function isUndefinedObject(error: SqlError): boolean {
  return error.sqlstate === "42P01" || error.sqlstate === "42703";
}

/** Locks, deadlocks, a stopping server or lack of space: the job is retried. */
function isPassing(error: SqlError): boolean {
  return /^(40|53|55|57)/.test(error.sqlstate);
}

function explain(job: Job, columns: readonly string[], error: SqlError): JobError {
  const what = error.sqlstate.startsWith("54")
    ? "a value exceeds the size of an index entry"
    : `PostgreSQL refused it (SQLSTATE ${error.sqlstate})`;
  return {
    code: "schema_unsupported",
    detail: `The index on ${job.table_name} (${columns.join(", ")}) could not be built: ${what}. It was dropped.`,
    hint: "Remove the index from the model, or shorten the values, and run the update again.",
    meta: { table: job.table_name, columns, sqlstate: error.sqlstate },
  };
}
