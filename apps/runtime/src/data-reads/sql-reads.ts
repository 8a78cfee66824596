import { randomBytes } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import type { sqlRequestSchema } from "@appdb/contract/routes/data-queries";
import { KeyedMutex } from "@appdb/engine/batching/keyed-mutex";
import type { Catalog } from "@appdb/engine/catalog/catalog";
import { readDefinitions } from "@appdb/engine/catalog/load-catalog";
import { READS } from "@appdb/engine/catalog/reader-connections";
import { MAX_STATEMENTS, runSql, type SqlRunInput } from "@appdb/engine/data-queries/run-sql";
import type { Logger, SqlPool } from "@appdb/engine/ports";
import type { QueryLimits } from "@appdb/engine/sql/query-limits";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { withLogin } from "@appdb/postgres/client/socket-dsn";
import { ensureReaderRole, grantTables, READER_TEMP_MB, readerName } from "@appdb/postgres/cluster/reader-role";
import type { z } from "zod";

const PASSWORD_BYTES = 32;

export interface SqlReadsDeps {
  /** Name of the database in PostgreSQL. */
  readonly database: string;
  /** Connects as the owner, who may cancel statements of the reader. */
  readonly dsn: string;
  /** The owner's pool. */
  readonly sql: SqlPool;
  /** Undefined for a PostgreSQL that is not ours. */
  readonly superuser_dsn: string | undefined;
  readonly application_name: string;
  /** Maximum bytes of a row. */
  readonly max_row_bytes: number;
  readonly limits: QueryLimits;
  readonly log: Logger;
}

/** SQL of people in a database: it runs as a role that can only read, on connections of its own. */
export class SqlReads implements AsyncDisposable {
  readonly #deps: SqlReadsDeps;
  #opening: Promise<SqlPool> | undefined;
  #running = 0;
  /** Version of the catalog whose tables the role may read. */
  #granted: number | undefined;
  /** Changes of the role's rights, which PostgreSQL refuses to make at the same time. */
  readonly #granting = new KeyedMutex();

  constructor(deps: SqlReadsDeps) {
    this.#deps = deps;
  }

  /** @throws overloaded, postgres_unsupported; errors of `runSql` */
  async run(
    request: z.output<typeof sqlRequestSchema>,
    { format, send, signal }: Pick<SqlRunInput, "format" | "send" | "signal">,
  ): Promise<void> {
    if (this.#running >= MAX_STATEMENTS) throw tooMany();
    this.#running += 1;
    const { limits } = this.#deps;
    try {
      const sql = await this.#open();
      const { explain = false, folder, limit, sql: text, timeout_ms: timeoutMs } = request;
      await runSql(
        { sql, owner: this.#deps.sql, limits, temp_mb: READER_TEMP_MB, loadCatalog: () => this.#grant() },
        { sql: text, folder, limit, timeout_ms: timeoutMs, explain, format, send, signal },
      );
    } finally {
      this.#running -= 1;
    }
  }

  /** Makes the role, and lets it read the current tables. @throws postgres_unsupported, database_unavailable */
  async grant(): Promise<Catalog> {
    await this.#open();
    return await this.#grant();
  }

  async #grant(): Promise<Catalog> {
    const { database, sql } = this.#deps;
    const catalog = await readDefinitions(sql);
    if (this.#granted === catalog.version) return catalog;
    await this.#granting.run(database, async () => {
      if (this.#granted !== catalog.version) await grantTables(sql, database, catalog.tables);
      this.#granted = catalog.version;
    });
    return catalog;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const sql = await this.#opening?.catch(() => undefined);
    await sql?.[Symbol.asyncDispose]();
  }

  #open(): Promise<SqlPool> {
    this.#opening ??= this.#make();
    // the next request tries again
    this.#opening.catch(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #make(): Promise<SqlPool> {
    const { application_name: applicationName, database, dsn, limits, log, superuser_dsn: superuserDsn } = this.#deps;
    if (superuserDsn === undefined) throw isForeign();
    const password = randomBytes(PASSWORD_BYTES).toString("base64url");
    await ensureReaderRole(superuserDsn, database, password);
    return createPgPool({
      dsn: withLogin(dsn, { user: readerName(database), password }),
      max: MAX_STATEMENTS,
      statement_timeout_ms: limits.statement_timeout_ms,
      is_single_use: true,
      max_row_bytes: this.#deps.max_row_bytes,
      cancel_dsn: dsn,
      kills_lost: true,
      application_name: `${applicationName}${READS}`,
      log,
    });
  }
}

function tooMany(): Error {
  return appError("overloaded", {
    detail: `${MAX_STATEMENTS} SQL statements run in the database, the maximum at a time. Nothing was done.`,
    hint: "Wait for one of the others, then send the request again.",
    meta: { limit: "statements", value: MAX_STATEMENTS },
  });
}

function isForeign(): Error {
  return appError("postgres_unsupported", {
    detail:
      "SQL of people needs a role that can only read. The server of SERVICE_LOCAL_DATABASE_URL is not ours to make it.",
    hint: "Connect to that server with psql and a role of your own, or unset SERVICE_LOCAL_DATABASE_URL.",
  });
}
