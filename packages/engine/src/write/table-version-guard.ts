import { loadCatalog } from "../catalog/load-catalog.ts";
import type { RowLayout } from "../compute/row-layout.ts";
import type { SqlConnection, SqlPool } from "../ports.ts";
import { TABLE_VERSION } from "../statements/insert-statement.ts";
import { isShapeRefusal, isUndone } from "./sql-refusals.ts";
import { planTableVersion, type ServiceIdentity, schemaChanged, type TableVersion } from "./table-version.ts";

/** How often a statement starts over because the table moved, or because PostgreSQL undid it in favour of another one. */
const MAX_ATTEMPTS = 8;

/** A table that may change under the service which writes to it: every statement is made for one state of it. */
export class TableVersionGuard {
  readonly #sql: SqlPool;
  readonly #layout: RowLayout;
  readonly #service: ServiceIdentity;
  #current: TableVersion;
  #reloading: Promise<void> | undefined;

  constructor(sql: SqlPool, layout: RowLayout, service: ServiceIdentity, current: TableVersion) {
    this.#sql = sql;
    this.#layout = layout;
    this.#service = service;
    this.#current = current;
  }

  /** The table as it was when it was last looked at. */
  get current(): TableVersion {
    return this.#current;
  }

  /**
   * Runs `attempt` on the table as it is: again when it gives undefined, which says that the table has another version by
   * now and nothing was done, when PostgreSQL undid it or knows the table otherwise, and when `mend` says that it has mended
   * what `attempt` threw.
   * @throws schema_changed; whatever else `attempt` throws
   */
  async run<T>(
    attempt: (target: TableVersion) => Promise<T | undefined>,
    mend?: (error: unknown) => Promise<boolean>,
  ): Promise<T> {
    for (let count = 1; ; count++) {
      const target = this.#current;
      try {
        const done = await attempt(target);
        if (done !== undefined) return done;
      } catch (error) {
        if (count < MAX_ATTEMPTS && (isUndone(error) || (await mend?.(error)) === true)) continue;
        if (!isShapeRefusal(error) || count === MAX_ATTEMPTS) throw error;
        await this.#reload(target);
        // The table is as this service knows it: the statement itself was wrong, which no new attempt mends.
        if (this.#current.version === target.version) throw error;
        continue;
      }
      if (count === MAX_ATTEMPTS) {
        const { name } = target;
        throw schemaChanged(this.#service, `Table ${name} changes again and again.`, { table: name });
      }
      await this.#reload(target);
    }
  }

  /** Whether the table still has the version that `target` names: a statement that found no row may have met another. */
  async isCurrent(target: TableVersion, sql: SqlConnection = this.#sql): Promise<boolean> {
    const { rows } = await sql.query({ ...TABLE_VERSION, values: [target.table_id] });
    return Number(rows[0]?.[0]) === target.version;
  }

  /** Looks at the table anew, once for all that found it changed. @throws schema_changed */
  async #reload(seen: TableVersion): Promise<void> {
    if (this.#current !== seen) return;
    this.#reloading ??= this.#load().finally(() => {
      this.#reloading = undefined;
    });
    await this.#reloading;
  }

  async #load(): Promise<void> {
    this.#current = planTableVersion(this.#layout, await loadCatalog(this.#sql), this.#service);
  }
}
