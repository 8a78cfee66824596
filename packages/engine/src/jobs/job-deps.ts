import type { Clock, Logger, QueryAnswerer, SqlPool, UdfRunner } from "../ports.ts";
import type { QueryLimits } from "../sql/query-limits.ts";

export interface JobDeps {
  readonly sql: SqlPool;
  /** Starts workers in the application's runtime with its modules. `onQuery` runs the queries of their columns. The
   *  caller disposes of them. */
  readonly udf: (runtimeId: string, modules: readonly string[], onQuery: QueryAnswerer) => Promise<UdfRunner>;
  /** The runtime for tables that have none: Python explains operators that fail. */
  readonly plain_runtime_id?: string | undefined;
  /** Limits of the columns' queries; default: a service's limits. */
  readonly query_limits?: QueryLimits;
  /** Checks before each batch of a fill or recompute that the database may grow. Default: it always may.
   *  @throws disk_full */
  readonly admit?: (() => Promise<void>) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Unique among the runners of a database; identifies the holder of a lease. */
  readonly owner: string;
}
