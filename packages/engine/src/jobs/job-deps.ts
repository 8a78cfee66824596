import type { Clock, Logger, QueryAnswerer, SqlPool, UdfRunner } from "../ports.ts";
import type { QueryLimits } from "../sql/query-limits.ts";

export interface JobDeps {
  readonly sql: SqlPool;
  /** Starts workers in the application's runtime, with its modules; `onQuery` answers what their columns ask. The caller
   *  disposes of them. */
  readonly udf: (runtimeId: string, modules: readonly string[], onQuery: QueryAnswerer) => Promise<UdfRunner>;
  /** Limits of the queries that columns ask; a service's defaults when left out. */
  readonly query_limits?: QueryLimits;
  readonly clock: Clock;
  readonly log: Logger;
  /** Unique among the runners of a database: names whoever holds a lease. */
  readonly owner: string;
}
