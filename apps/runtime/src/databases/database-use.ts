import { hasCatalog } from "@appdb/engine/catalog/load-catalog";
import { countOpenBackground, countOpenJobs } from "@appdb/engine/jobs/count-jobs";
import type { Clock, SqlPool } from "@appdb/engine/ports";
import { countConnections } from "@appdb/postgres/client/count-connections";

export interface DatabaseUseDeps {
  /** A pool that answers within a timeout or fails. */
  readonly sql: SqlPool;
  readonly clock: Clock;
  /** Application name of the pod's own connections. */
  readonly application_name: string;
  /** Prefix of services' application names. Services report their own use. */
  readonly services: string;
}

/** Tracks use of the database: requests, foreign connections, jobs. */
export class DatabaseUse {
  readonly #deps: DatabaseUseDeps;
  #requests = 0;
  #lastUsedAt: number;
  #servicesMark: string | null = null;
  #lastTouchedAt: number;

  constructor(deps: DatabaseUseDeps) {
    this.#deps = deps;
    this.#lastUsedAt = deps.clock.now();
    this.#lastTouchedAt = this.#lastUsedAt;
  }

  /** Records the start of a request. */
  begin(): void {
    this.#requests += 1;
    this.#lastUsedAt = this.#deps.clock.now();
  }

  /** Records the end of a request. */
  end(): void {
    this.#requests -= 1;
    this.#lastUsedAt = this.#deps.clock.now();
  }

  /** Whether no request is running. */
  get is_quiet(): boolean {
    return this.#requests === 0;
  }

  /** Time of the last known use. */
  get last_used_at(): number {
    return this.is_quiet ? this.#lastUsedAt : this.#deps.clock.now();
  }

  /** Like `last_used_at`, but including services: whether rows may have changed. */
  get last_touched_at(): number {
    return Math.max(this.last_used_at, this.#lastTouchedAt);
  }

  /**
   * Describes what keeps the database awake: `2 connections, 1 job`; null for nothing.
   * @throws database_unavailable and similar errors when PostgreSQL does not respond
   */
  async describe(): Promise<string | null> {
    const { sql, application_name: applicationName, services, clock } = this.#deps;
    const { others, mark, names } = await countConnections(sql, applicationName, services);
    if (mark !== this.#servicesMark) this.#lastTouchedAt = clock.now();
    this.#servicesMark = mark;
    const hasJobs = await hasCatalog(sql);
    const reasons = [
      counted(this.#requests, "request"),
      counted(others, "connection"),
      counted(hasJobs ? await countOpenJobs(sql) : 0, "job"),
      counted(hasJobs && names.length > 0 ? await countOpenBackground(sql, services, names) : 0, "background job"),
    ].filter((reason) => reason !== undefined);
    if (reasons.length === 0) return null;
    this.#lastUsedAt = clock.now();
    return reasons.join(", ");
  }
}

function counted(count: number, what: string): string | undefined {
  if (count === 0) return undefined;
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
