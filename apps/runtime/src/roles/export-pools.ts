import { appError } from "@appdb/contract/errors";
import type { ManifestSqlExport } from "@appdb/contract/manifest";
import type { SqlPool } from "@appdb/engine/ports";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { type PostgresAddress, parseServerAddress } from "@appdb/postgres/client/server-address";

/** Of a service to each of the other databases. */
const CONNECTIONS = 4;
const STATEMENT_TIMEOUT_MS = 10_000;

/**
 * Where exports may go. `own`: wherever the driver can connect to, for a person's own service on their own machine. `public`: TCP hosts on the internet;
 * `private`: these, and TCP hosts of this machine and of private networks.
 */
export type ExportReach = "own" | "public" | "private";

/**
 * The other databases that a service's routes export to, connected when they are first needed. A URL is a secret: no error
 * of these has it, nor does the log, which is why the pools get none.
 */
export class ExportPools implements AsyncDisposable {
  readonly #env: Readonly<Record<string, string>>;
  readonly #reach: ExportReach;
  readonly #pools = new Map<string, SqlPool>();

  /** `env` is the environment of the application. */
  constructor(env: Readonly<Record<string, string>>, reach: ExportReach) {
    this.#env = env;
    this.#reach = reach;
  }

  /** @throws config_invalid when the variable is not set, no URL of PostgreSQL, or leads where exports may not */
  connect(to: ManifestSqlExport["db_connect"]): SqlPool {
    const url = "env" in to ? this.#env[to.env] : to.url;
    const name = "env" in to ? `variable ${to.env}` : "URL of the export";
    if (url === undefined || url === "") throw notAUrl(`The ${name} is not set`, name);
    let pool = this.#pools.get(url);
    if (pool === undefined) {
      pool = createPgPool({
        dsn: this.#addressOf(url, name),
        max: CONNECTIONS,
        application_name: "appdb export",
        statement_timeout_ms: STATEMENT_TIMEOUT_MS,
      });
      this.#pools.set(url, pool);
    }
    return pool;
  }

  #addressOf(url: string, name: string): string | PostgresAddress {
    if (this.#reach === "own") {
      if (!isPostgresUrl(url)) throw notAUrl(`The ${name} is not a PostgreSQL URL`, name);
      return url;
    }
    const found = parseServerAddress(url, this.#reach === "private");
    if ("problem" in found) throw notAUrl(`The ${name} ${found.problem}`, name);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool[Symbol.asyncDispose]()));
  }
}

/** What cannot be parsed would be told by the driver, with all of it. */
function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);
}

function notAUrl(what: string, name: string): Error {
  return appError("config_invalid", {
    detail: `${what}; it names the database that rows are exported to.`,
    hint: `Let the ${name} be like postgresql://user:password@host:5432/database. Variables are taken by cli service update.`,
  });
}
