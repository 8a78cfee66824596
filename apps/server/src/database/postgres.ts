import { join } from "node:path";
import { AppError, appError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import type { ClusterFormat } from "@appdb/postgres/cluster/cluster-mark";
import { LOG_HINT } from "@appdb/postgres/cluster/start-failure";
import type pg from "pg";
import { SERVER_PATHS, type ServerConfig } from "../config/config.ts";

const DATABASE = "control";

type PostgresConfig = Pick<ServerConfig, "database" | "runtime_base">;

export interface ControlPostgres extends AsyncDisposable {
  readonly dsn: string;
  /** Why the server cannot restart it. Undefined for an external one. */
  failure(): string | undefined;
}

/**
 * Opens the control plane's PostgreSQL: an external one (`SERVICE_DATABASE_URL`), or the home's cluster, which it
 * starts. Copies the cluster first if `format` is newer than the cluster's.
 */
export async function openPostgres(
  config: PostgresConfig,
  home: string,
  format: ClusterFormat,
  log: Logger,
): Promise<ControlPostgres> {
  const { url } = config.database;
  if (url !== undefined)
    return { dsn: url.reveal(), failure: () => undefined, [Symbol.asyncDispose]: async () => undefined };
  const postgres = await createEmbedded(config, home, log, format);
  try {
    await postgres.ensureDatabase(DATABASE);
  } catch (error) {
    await postgres.stop();
    throw withLog(error, home);
  }
  const failure = () => postgres.failure()?.message;
  return { dsn: postgres.dsn(DATABASE), failure, [Symbol.asyncDispose]: () => postgres.stop() };
}

/** Adds PostgreSQL's log to the error of a failed start. */
function withLog(error: unknown, home: string): unknown {
  if (!(error instanceof AppError) || error.hint !== LOG_HINT) return error;
  const hint = `Read its log: ${join(home, SERVER_PATHS.postgresLog)}`;
  return appError(error.code, { detail: error.message, hint, meta: error.meta, cause: error.cause });
}

/** Tries a connection early. @throws postgres_failed with the cause and the setting or log to check */
export async function requirePostgres(
  pool: pg.Pool,
  { database, home }: Pick<ServerConfig, "database" | "home">,
): Promise<void> {
  try {
    (await pool.connect()).release();
  } catch (cause) {
    const { code, message } = describeCause(cause);
    const isOwn = database.url !== undefined;
    throw appError("postgres_failed", {
      detail: isOwn
        ? `The PostgreSQL of SERVICE_DATABASE_URL cannot be used: ${message}.`
        : `The server's PostgreSQL cannot be used: ${message}.`,
      hint: isOwn
        ? "Start that PostgreSQL, or correct SERVICE_DATABASE_URL (or SERVICE_DATABASE_URL_FILE)."
        : `Read its log: ${join(home, SERVER_PATHS.postgresLog)}`,
      meta: { code },
      cause,
    });
  }
}

/** Node tries all addresses of a host and collects their errors in one without a message. */
function describeCause(cause: unknown): { code: string | null; message: string } {
  const error = cause instanceof AggregateError ? cause.errors[0] : cause;
  if (!(error instanceof Error)) return { code: null, message: String(error) };
  const code = "code" in error && typeof error.code === "string" ? error.code : null;
  return { code, message: error.message.replace(/\.$/, "") };
}

/** The DSN of a running server's PostgreSQL. */
export async function runningDsn(config: PostgresConfig, home: string, log: Logger): Promise<string> {
  return config.database.url?.reveal() ?? (await createEmbedded(config, home, log)).dsn(DATABASE);
}

async function createEmbedded(config: PostgresConfig, home: string, log: Logger, format?: ClusterFormat) {
  const { EmbeddedPostgres } = await import("@appdb/postgres/cluster/embedded-postgres");
  const { nameRuntimeFolder } = await import("@appdb/postgres/cluster/runtime-folder");
  const { locateTools, requirePostgresBin } = await import("@appdb/system/tools/locate-tools");
  const tools = locateTools({ program_url: import.meta.url, postgres_bin: config.database.pg_bin });
  const folder = join(home, SERVER_PATHS.postgres);
  return new EmbeddedPostgres({
    bin: requirePostgresBin(tools),
    folder,
    // the server's own, not the daemon's, which belongs to the home
    runtime_folder: nameRuntimeFolder(folder, config.runtime_base),
    log_file: join(home, SERVER_PATHS.postgresLog),
    without_vector: true,
    log,
    ...(format === undefined ? {} : { format }),
  });
}
