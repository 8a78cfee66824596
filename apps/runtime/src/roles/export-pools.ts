import { appError } from "@appdb/contract/errors";
import type { ManifestSqlExport } from "@appdb/contract/manifest";
import type { SqlPool } from "@appdb/engine/ports";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { type PostgresAddress, parseServerAddress } from "@appdb/postgres/client/server-address";

/** Maximum connections of a service to each target database. */
const CONNECTIONS = 4;
const STATEMENT_TIMEOUT_MS = 10_000;

/**
 * Allowed export targets. `own`: anything the driver can connect to, for local services. `public`: TCP hosts on the
 * internet. `private`: these, and TCP hosts of this machine and private networks.
 */
export type ExportReach = "own" | "public" | "private";

/**
 * Pools of the databases that a service's routes export to, opened on demand. URLs are secret: errors never contain
 * them, and pools get no log.
 */
export class ExportPools implements AsyncDisposable {
  readonly #env: Readonly<Record<string, string>>;
  readonly #reach: ExportReach;
  readonly #pools = new Map<string, SqlPool>();

  /** `env` is the application's environment. */
  constructor(env: Readonly<Record<string, string>>, reach: ExportReach) {
    this.#env = env;
    this.#reach = reach;
  }

  /**
   * @throws config_invalid when the variable is not set, is not a PostgreSQL URL, or names a target that is not allowed
   */
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

/** The driver's parse error would contain the whole URL. */
function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);
}

function notAUrl(what: string, name: string): Error {
  return appError("config_invalid", {
    detail: `${what}; it must name the database that rows are exported to.`,
    hint: `Set the ${name} to a URL like postgresql://user:password@host:5432/database. cli service update reads variables.`,
  });
}
