import type { Clock, Logger, SqlPool, UdfRunner } from "../ports.ts";

export interface JobDeps {
  readonly sql: SqlPool;
  /** Starts workers in the application's runtime, with its modules; the caller disposes of them. */
  readonly udf: (runtime_id: string, modules: readonly string[]) => Promise<UdfRunner>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Unique among the runners of a database: names whoever holds a lease. */
  readonly owner: string;
}
