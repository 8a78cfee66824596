import { setTimeout as sleep } from "node:timers/promises";
import { AppError, appError } from "@appdb/contract/errors";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import type { Catalog, CatalogColumn, CatalogTable } from "../../catalog/catalog.ts";
import { columnPath } from "../../catalog/sql-names.ts";
import { runRowWise } from "../../compute/batch-results.ts";
import type { QueryAnswerer, SqlPool, UdfRunner } from "../../ports.ts";
import { OpenQueries } from "../../queries/open-queries.ts";
import type { QueryLimits } from "../../sql/query-limits.ts";

/** Columns that are computed for rows, and the tools to compute them. */
export interface ComputedHere {
  readonly catalog: Catalog;
  /** PostgreSQL schema of the tables that queries read. */
  readonly folder: string;
  readonly columns: readonly Pick<CatalogColumn, "computed">[];
}

export interface JobQueries {
  readonly answer: QueryAnswerer;
  /** The same runner, but a row fails with the reason if the database or workers were unavailable for a query. Such
   *  a row has no error of its own and may succeed later. */
  guard(runner: UdfRunner): UdfRunner;
}

interface JobQueriesDeps {
  readonly sql: SqlPool;
  readonly udf: () => UdfRunner;
  readonly query_limits?: QueryLimits | undefined;
}

const PASSING: ReadonlySet<string> = new Set(["database_unavailable", "worker_unavailable"]);
const PAUSE_MS = 20;

/** Runs the queries of computed columns while a job computes them, with the definitions in the catalog. */
export function createJobQueries(deps: JobQueriesDeps, { catalog, folder, columns }: ComputedHere): JobQueries {
  const queries = columns.flatMap(({ computed }) => computed?.queries ?? []);
  const open = new OpenQueries(
    {
      sql: deps.sql,
      udf: deps.udf,
      functions: catalog.functions,
      limits: deps.query_limits ?? DEFAULT_LIMITS,
      service: null,
      findTable: (name) => findTable(catalog, folder, name),
    },
    [...new Map(queries.map((query) => [query.id, query])).values()],
  );
  const checked = new Set<string>();
  let passing: AppError | undefined;
  let asking = 0;
  const answer: QueryAnswerer = async (id, args) => {
    if (!checked.has(id)) refuseUnfilled(id, open.open(id).runner.plan.bound.tables);
    checked.add(id);
    asking += 1;
    try {
      for (;;) {
        try {
          return await open.answer(id, args);
        } catch (error) {
          // A job sends as many queries as it computes rows at a time. Queries above the limit wait for the others.
          if (!(error instanceof AppError) || error.code !== "overloaded" || asking === 1) throw error;
        }
        await sleep(PAUSE_MS);
      }
    } catch (error) {
      if (error instanceof AppError && PASSING.has(error.code)) passing ??= error;
      throw error;
    } finally {
      asking -= 1;
    }
  };
  return {
    answer,
    guard: (runner) => {
      if (queries.length === 0) return runner;
      const run: UdfRunner["run"] = async (graph, row, signal) => {
        const result = await runner.run(graph, row, signal);
        if (result.errors !== null && passing !== undefined) throw passing;
        return result;
      };
      return {
        run,
        runBatch: (graph, columns, rows) => runRowWise(run, graph, columns, rows),
        start: () => runner.start(),
        fold: (aggregation) => runner.fold(aggregation),
        stats: () => runner.stats(),
        [Symbol.asyncDispose]: () => runner[Symbol.asyncDispose](),
      };
    },
  };
}

function findTable(catalog: Catalog, folder: string, name: string): CatalogTable {
  const table = catalog.tables.find((candidate) => candidate.folder === folder && candidate.name === name);
  if (table !== undefined) return table;
  throw appError("schema_changed", {
    detail: `The query reads table ${name}, which no longer exists.`,
    hint: "Update the tables by the file that declares the query: cli schema update <app file> <target>",
    meta: { table: name },
  });
}

/** Values that are still being computed would be read as null. */
function refuseUnfilled(
  query: string,
  tables: readonly { readonly table: CatalogTable; readonly reads: ReadonlySet<string> }[],
): void {
  for (const { table, reads } of tables) {
    for (const name of reads) {
      const column = table.columns.find((candidate) => candidate.name === name);
      if (column?.state === "ready") continue;
      const what = column === undefined ? "is not there any more" : "is being filled itself";
      throw appError("schema_changed", {
        detail: `The query ${query} reads ${columnPath(table.name, name)}, which ${what}.`,
        hint: "Add that column in one update, and the column that uses the query in the next.",
        meta: { query, table: table.name, column: name },
      });
    }
  }
}
