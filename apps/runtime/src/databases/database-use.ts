import { hasCatalog } from "@appdb/engine/catalog/load-catalog";
import { countOpenBackground, countOpenJobs } from "@appdb/engine/jobs/count-jobs";
import type { Clock, SqlPool } from "@appdb/engine/ports";
import { countConnections } from "@appdb/postgres/client/count-connections";

export interface DatabaseUseDeps {
  /** Answers in time or not at all. */
  readonly sql: SqlPool;
  readonly clock: Clock;
  /** Connections of this name are the pod's own. */
  readonly application_name: string;
  /** What the names of services' connections begin with: services say themselves whether they are used. */
  readonly services: string;
}

/** Who uses the database: requests, connections of others, jobs. */
export class DatabaseUse {
  readonly #deps: DatabaseUseDeps;
  #requests = 0;
  #lastUsedAt: number;
  #servicesMark: string | null = null;
  #lastTouchedAt: number;
  #hasJobs = false;

  constructor(deps: DatabaseUseDeps) {
    this.#deps = deps;
    this.#lastUsedAt = deps.clock.now();
    this.#lastTouchedAt = this.#lastUsedAt;
  }

  /** A request begins. */
  begin(): void {
    this.#requests += 1;
    this.#lastUsedAt = this.#deps.clock.now();
  }

  /** A request has ended. */
  end(): void {
    this.#requests -= 1;
    this.#lastUsedAt = this.#deps.clock.now();
  }

  /** Whether no request is under way. */
  get is_quiet(): boolean {
    return this.#requests === 0;
  }

  /** When somebody last used it, as far as anybody has looked. */
  get last_used_at(): number {
    return this.is_quiet ? this.#lastUsedAt : this.#deps.clock.now();
  }

  /** As `last_used_at`, with the work of services: whether there may be other rows than before. */
  get last_touched_at(): number {
    return Math.max(this.last_used_at, this.#lastTouchedAt);
  }

  /** What keeps the database from being idle: `2 connections, 1 job`; null for nothing. @throws database_unavailable and its kin when PostgreSQL does not say */
  async describe(): Promise<string | null> {
    const { sql, application_name: applicationName, services, clock } = this.#deps;
    const { others, mark, names } = await countConnections(sql, applicationName, services);
    if (mark !== this.#servicesMark) this.#lastTouchedAt = clock.now();
    this.#servicesMark = mark;
    // the table comes with the first update, and stays
    this.#hasJobs ||= await hasCatalog(sql);
    const reasons = [
      counted(this.#requests, "request"),
      counted(others, "connection"),
      counted(this.#hasJobs ? await countOpenJobs(sql) : 0, "job"),
      counted(
        this.#hasJobs && names.length > 0 ? await countOpenBackground(sql, services, names) : 0,
        "background job",
      ),
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
