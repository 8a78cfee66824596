import type { Manifest } from "@appdb/contract/manifest";
import { ensureCatalog } from "@appdb/engine/catalog/ensure-catalog";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import type { Clock, Logger, SqlPool } from "@appdb/engine/ports";
import { type ApplyInput, applySchema } from "@appdb/engine/schema/apply-schema";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { createSilentLog } from "./silent-log.ts";
import { createTestDatabase, type TestTemplate } from "./test-database.ts";

export interface StageOptions {
  /** Default: the system clock. */
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly statement_timeout_ms?: number;
}

/** A database with a catalog, for manifests that tests apply. Disposing removes it. */
export interface SchemaStage extends AsyncDisposable {
  readonly sql: SqlPool;
  readonly dsn: string;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Applies a manifest. Defaults of `options`: the current catalog version, no destructive changes.
   * @throws as `applySchema`
   */
  apply(manifest: Manifest, options?: Partial<Omit<ApplyInput, "manifest">>): ReturnType<typeof applySchema>;
  rows(text: string): Promise<readonly (readonly (string | null)[])[]>;
  count(table: string): Promise<number>;
}

/** An empty catalog. The name is enough: the PostgreSQL of a run serves one version of the sources. */
const WITH_CATALOG: TestTemplate = {
  made_of: "an empty catalog",
  async fill(dsn) {
    await using sql = createPgPool({ dsn, max: 1, application_name: "testkit" });
    await ensureCatalog(sql, readCatalogMigrations());
  },
};

/** Creates the database and its catalog. */
export async function openSchemaStage(options: StageOptions = {}): Promise<SchemaStage> {
  const { clock = { now: Date.now }, log = createSilentLog(), ...pool } = options;
  const database = await createTestDatabase(WITH_CATALOG);
  const sql = createPgPool({ dsn: database.dsn, max: 8, application_name: "test", ...pool });
  const rows = async (text: string) => (await sql.query({ text })).rows;
  return {
    sql,
    clock,
    log,
    rows,
    dsn: database.dsn,
    apply: async (manifest, options = {}) => {
      const { version: catalogVersion } = await loadCatalog(sql);
      const input = {
        manifest,
        target: "main",
        catalog_version: catalogVersion,
        allow_destructive: false,
        runtime_id: "r1",
      };
      return applySchema({ sql, clock, log }, { ...input, ...options });
    },
    count: async (table) => Number((await rows(`select count(*) from ${table}`))[0]?.[0]),
    async [Symbol.asyncDispose]() {
      await sql[Symbol.asyncDispose]();
      await database.drop();
    },
  };
}
