import { loadDefinitions } from "../catalog/load-catalog.ts";
import type { RowLayout } from "../compute/row-layout.ts";
import type { SqlConnection, SqlPool } from "../ports.ts";
import { buildLock, TABLE_VERSION } from "../statements/insert-statement.ts";
import { isRolledBack, isShapeRefusal } from "./sql-refusals.ts";
import { planTableVersion, type ServiceIdentity, schemaChanged, type TableVersion } from "./table-version.ts";

/** How often a statement restarts because the table changed, or because PostgreSQL rolled it back for another one. */
const MAX_ATTEMPTS = 8;

/** Tracks a table that may change while the service writes to it. Every statement is made for one version of it. */
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

  /** The table as of the last reload. */
  get current(): TableVersion {
    return this.#current;
  }

  /**
   * Runs `attempt` on the current table version. It runs again in these cases: the result is undefined (the version
   * changed and nothing was done), PostgreSQL rolled it back, the table has another shape, or `mend` fixed the error.
   * @throws schema_changed; any other error of `attempt`
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
        if (count < MAX_ATTEMPTS && (isRolledBack(error) || (await mend?.(error)) === true)) continue;
        if (!isShapeRefusal(error) || count === MAX_ATTEMPTS) throw error;
        await this.#reload(target);
        // The table has not changed, so the statement itself is wrong and a retry cannot help.
        if (this.#current.version === target.version) throw error;
        continue;
      }
      if (count === MAX_ATTEMPTS) {
        const { name } = target;
        throw schemaChanged(this.#service, `Table ${name} keeps changing.`, { table: name });
      }
      await this.#reload(target);
    }
  }

  /** Whether the table still has the version of `target`. A statement that found no row may have met another
   *  version. */
  async isCurrent(target: TableVersion, sql: SqlConnection = this.#sql): Promise<boolean> {
    const { rows } = await sql.query({ ...TABLE_VERSION, values: [target.table_id] });
    return Number(rows[0]?.[0]) === target.version;
  }

  /**
   * Keeps the table at this version until the end of the transaction. False when it has another one.
   * @throws SqlError when the table is missing
   */
  async lock(target: TableVersion, connection: SqlConnection): Promise<boolean> {
    await connection.query({ text: buildLock(target) });
    return await this.isCurrent(target, connection);
  }

  /** Reloads the table once for all callers that found it changed. @throws schema_changed */
  async #reload(seen: TableVersion): Promise<void> {
    if (this.#current !== seen) return;
    this.#reloading ??= this.#load().finally(() => {
      this.#reloading = undefined;
    });
    await this.#reloading;
  }

  async #load(): Promise<void> {
    this.#current = planTableVersion(this.#layout, await loadDefinitions(this.#sql), this.#service);
  }
}
