import { join } from "node:path";
import type { ClusterFormat } from "@appdb/adapters/postgres/cluster-mark";
import type { Logger } from "@appdb/engine/ports";
import { SERVER_PATHS, type ServerConfig } from "../config.ts";

const DATABASE = "control";

type PostgresConfig = Pick<ServerConfig, "database" | "runtime_base">;

export interface ControlPostgres extends AsyncDisposable {
  readonly dsn: string;
}

/**
 * The control plane's PostgreSQL: one of one's own (`SERVICE_DATABASE_URL`), else a cluster of the home, started here, and copied
 * before when `format` is newer than what it is in.
 */
export async function openPostgres(
  config: PostgresConfig,
  home: string,
  format: ClusterFormat,
  log: Logger,
): Promise<ControlPostgres> {
  const { url } = config.database;
  if (url !== undefined) return { dsn: url.reveal(), [Symbol.asyncDispose]: async () => undefined };
  const postgres = await createEmbedded(config, home, log, format);
  try {
    await postgres.ensureDatabase(DATABASE);
  } catch (error) {
    await postgres.stop();
    throw error;
  }
  return { dsn: postgres.dsn(DATABASE), [Symbol.asyncDispose]: () => postgres.stop() };
}

/** Where the PostgreSQL of a server that runs already is reached. */
export async function runningDsn(config: PostgresConfig, home: string, log: Logger): Promise<string> {
  return config.database.url?.reveal() ?? (await createEmbedded(config, home, log)).dsn(DATABASE);
}

async function createEmbedded(config: PostgresConfig, home: string, log: Logger, format?: ClusterFormat) {
  const { EmbeddedPostgres } = await import("@appdb/adapters/postgres/embedded-postgres");
  const { nameRuntimeFolder } = await import("@appdb/adapters/postgres/runtime-folder");
  const { locateTools, requirePostgresBin } = await import("@appdb/adapters/tools/locate-tools");
  const tools = locateTools({ program_url: import.meta.url, postgres_bin: config.database.pg_bin });
  const folder = join(home, SERVER_PATHS.postgres);
  return new EmbeddedPostgres({
    bin: requirePostgresBin(tools),
    folder,
    // not the daemon's, which has the home's
    runtime_folder: nameRuntimeFolder(folder, config.runtime_base),
    log_file: join(home, SERVER_PATHS.postgresLog),
    log,
    ...(format === undefined ? {} : { format }),
  });
}
