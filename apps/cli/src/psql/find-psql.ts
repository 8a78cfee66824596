import { existsSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { locateTools } from "@appdb/system/tools/locate-tools";
import type { CliConfig } from "../config/config.ts";
import type { Program } from "../program.ts";

export interface FindPsqlDeps {
  readonly config: Pick<CliConfig, "daemon_env">;
  readonly program: Pick<Program, "url">;
}

/** The program psql next to the installation's PostgreSQL. @throws postgres_failed without it */
export function findPsql({ config, program }: FindPsqlDeps): string {
  const { postgres_bin: bin } = locateTools({
    program_url: program.url,
    postgres_bin: config.daemon_env["SERVICE_PG_BIN"],
  });
  const found = ["psql", "psql.exe"].map((name) => join(bin ?? "", name)).find((path) => existsSync(path));
  if (bin !== undefined && found !== undefined) return found;
  throw appError("postgres_failed", {
    detail: bin === undefined ? "This installation has no PostgreSQL, and so no psql." : `No psql program in ${bin}.`,
    hint: "Install it with pip install 'appdb[serve]', or use another tool with the address of: cli psql main --url",
  });
}
