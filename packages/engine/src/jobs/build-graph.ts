import type { CatalogTable } from "../catalog/catalog.ts";
import { dropIndex } from "../catalog/ddl.ts";
import { type SqlConnection, SqlError } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import type { JobDeps } from "./job-deps.ts";
import type { Job } from "./job-store.ts";

/** Size of a vector in a graph in addition to its numbers: its neighbours, and pgvector's own data. */
const NODE_BYTES = 600;
const BYTES_OF_A_NUMBER = 4;
const MB = 1024 * 1024;
/** A graph without enough memory is finished on disk, many times slower. */
const LEAST_MB = 64;
const MAX_MB = 1024;
const PROGRESS_MS = 1_000;

interface Graph {
  readonly table: CatalogTable;
  readonly dimensions: number;
  /** Its name in PostgreSQL. */
  readonly index: string;
  /** The statement that creates it. */
  readonly text: string;
}

/**
 * Builds the graph of an embedding index in memory sized for its rows. Uses several processes if the server has enough
 * shared memory. The job reports the number of finished rows.
 * @throws SqlError
 */
export async function buildGraph(deps: JobDeps, job: Job, graph: Graph): Promise<void> {
  const { rows } = await deps.sql.query({ text: `select count(*) from ${quoteTable(graph.table)}` });
  const count = Number(rows[0]?.[0]);
  await setRows(deps.sql, job, 0, count);
  await using _progress = reportProgress(deps, job, count);
  const needed = Math.ceil((count * (graph.dimensions * BYTES_OF_A_NUMBER + NODE_BYTES)) / MB);
  const memory = Math.min(Math.max(needed, LEAST_MB), MAX_MB);
  try {
    await create(deps, graph, `${memory}MB`, null);
  } catch (error) {
    // Containers often have 64 MB of shared memory, too little for parallel builds.
    if (!(error instanceof SqlError) || !["53100", "53200"].includes(error.sqlstate)) throw error;
    await deps.sql.query({ text: dropIndex(graph.table.folder, graph.index, { concurrently: true }) });
    await create(deps, graph, `${memory}MB`, 0);
  }
  await setRows(deps.sql, job, count, count);
}

/** CREATE INDEX CONCURRENTLY cannot run in a transaction, so its settings belong to the session and are reset. */
async function create(deps: JobDeps, { text }: Graph, memory: string, workers: number | null): Promise<void> {
  await deps.sql.withConnection(async (connection) => {
    await connection.query({ text: "select set_config('maintenance_work_mem', $1, false)", values: [memory] });
    if (workers !== null) {
      await connection.query({ text: `set max_parallel_maintenance_workers = ${workers}` });
    }
    const reset = async () => {
      await connection.query({ text: "reset maintenance_work_mem" });
      await connection.query({ text: "reset max_parallel_maintenance_workers" });
    };
    await connection.query({ text }).catch(async (error: unknown) => {
      if (error instanceof SqlError) await reset();
      throw error;
    });
    await reset();
  });
}

function reportProgress(deps: JobDeps, job: Job, total: number): AsyncDisposable {
  let telling: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    telling = telling.then(() => reportRows(deps, job, total));
  }, PROGRESS_MS);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await telling;
    },
  };
}

async function reportRows(deps: JobDeps, job: Job, total: number): Promise<void> {
  try {
    const { rows } = await deps.sql.query({
      text: `select p.tuples_done from pg_catalog.pg_stat_progress_create_index p
        join appdb.tables t on p.relid = to_regclass(format('%I.%I', t.folder, t.name)) where t.id = $1`,
      values: [job.table_id],
    });
    if (rows[0]?.[0] != null) await setRows(deps.sql, job, Math.min(Number(rows[0][0]), total), total);
  } catch (error) {
    // The build statement meets the same error and reports it.
    deps.log.debug({ job: job.id, error: String(error) }, "the progress of an index could not be read");
  }
}

async function setRows(sql: SqlConnection, job: Job, done: number, total: number): Promise<void> {
  await sql.query({
    text: "update appdb.jobs set rows_done = $2, rows_total = $3 where id = $1",
    values: [job.id, done, total],
  });
}
