import { join } from "node:path";
import { HOME_PATHS } from "@appdb/contract/home";
import type { Logger } from "@appdb/engine/ports";
import type { ClusterFormat } from "@appdb/postgres/cluster/cluster-mark";
import type { PostgresProvider } from "@appdb/postgres/cluster/postgres-provider";
import { ownsHome } from "@appdb/system/processes/home-lock";
import { locateTools, requirePostgresBin } from "@appdb/system/tools/locate-tools";
import type { DaemonConfig } from "../config/config.ts";

/** Creates the PostgreSQL provider of a home: its own cluster, or the configured server. */
export async function createPostgres(
  config: DaemonConfig,
  home: string,
  format: ClusterFormat,
  log: Logger,
): Promise<PostgresProvider> {
  if (config.postgres.url !== undefined) {
    const { ExternalPostgres } = await import("@appdb/postgres/cluster/external-postgres");
    return new ExternalPostgres({ url: config.postgres.url });
  }
  const { EmbeddedPostgres } = await import("@appdb/postgres/cluster/embedded-postgres");
  const { nameRuntimeFolder } = await import("@appdb/postgres/cluster/runtime-folder");
  const tools = locateTools({ program_url: import.meta.url, postgres_bin: config.postgres.bin });
  return new EmbeddedPostgres({
    bin: requirePostgresBin(tools),
    folder: join(home, HOME_PATHS.postgres),
    runtime_folder: nameRuntimeFolder(home, config.runtime_base),
    log_file: join(home, HOME_PATHS.logs, "postgres.log"),
    log,
    format,
    ownsHome: () => ownsHome(join(home, HOME_PATHS.locks)),
  });
}
