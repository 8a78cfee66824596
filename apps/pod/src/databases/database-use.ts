import type { Clock, SqlPool } from "@appdb/engine/ports";
import type { OpenDatabases } from "./open-databases.ts";

export interface DatabaseUseDeps {
  readonly sql: SqlPool;
  readonly databases: Pick<OpenDatabases, "countFills">;
  readonly clock: Clock;
  /** Connections of this name are the pod's own. */
  readonly application_name: string;
}

/** How long PostgreSQL may take to say who is connected. */
const ANSWER_MS = 2_000;

/** Who uses the database: requests, connections of others, jobs. */
export class DatabaseUse {
  readonly #deps: DatabaseUseDeps;
  #requests = 0;
  #last_used_at: number;

  constructor(deps: DatabaseUseDeps) {
    this.#deps = deps;
    this.#last_used_at = deps.clock.now();
  }

  /** A request begins. */
  begin(): void {
    this.#requests += 1;
    this.#last_used_at = this.#deps.clock.now();
  }

  /** A request has ended. */
  end(): void {
    this.#requests -= 1;
    this.#last_used_at = this.#deps.clock.now();
  }

  /** Whether no request is under way. */
  get is_quiet(): boolean {
    return this.#requests === 0;
  }

  /** When somebody last used it, as far as anybody has looked. */
  get last_used_at(): number {
    return this.#last_used_at;
  }

  /** What keeps the database from being idle: `2 connections, 1 job`; null for nothing, undefined when PostgreSQL does not say. */
  async describe(): Promise<string | null | undefined> {
    const { sql, databases, application_name, clock } = this.#deps;
    const asked = sql.query({ text: CONNECTIONS, values: [application_name], signal: AbortSignal.timeout(ANSWER_MS) });
    const connections = await asked.then(
      ({ rows }) => Number(rows[0]?.[0]),
      () => undefined,
    );
    if (connections === undefined) return undefined;
    const reasons = [
      counted(this.#requests, "request"),
      counted(connections, "connection"),
      counted(await databases.countFills(), "job"),
    ].filter((reason) => reason !== undefined);
    if (reasons.length === 0) return null;
    this.#last_used_at = clock.now();
    return reasons.join(", ");
  }
}

const CONNECTIONS = `select count(*) from pg_stat_activity
  where backend_type = 'client backend' and application_name is distinct from $1`;

function counted(count: number, what: string): string | undefined {
  if (count === 0) return undefined;
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
