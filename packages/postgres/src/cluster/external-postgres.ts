import { AppError, appError } from "@appdb/contract/errors";
import {
  copyDatabase,
  createDatabase,
  dropDatabase,
  hasDatabase,
  listPostgresDatabases,
  renameDatabase,
  withClient,
} from "./database-admin.ts";
import type { PostgresProvider, PostgresState } from "./postgres-provider.ts";

const OLDEST_MAJOR = 18;

export interface ExternalPostgresOptions {
  /** `postgresql://user:password@host:5432/postgres`: an initial database and a role that may create databases. */
  readonly url: string;
}

/** An externally managed server. The provider creates databases on it and never starts or stops it. */
export class ExternalPostgres implements PostgresProvider {
  readonly #url: URL;
  #checking: Promise<void> | undefined;
  #state: PostgresState = "down";

  /** @throws config_invalid for an invalid URL */
  constructor(options: ExternalPostgresOptions) {
    this.#url = parseUrl(options.url);
  }

  /** Checks that the server is usable. @throws database_unavailable, postgres_unsupported */
  start(): Promise<void> {
    this.#checking ??= this.#check().catch((error: unknown) => {
      this.#checking = undefined;
      this.#state = "down";
      throw error;
    });
    return this.#checking;
  }

  /** Does not stop the external server. */
  async stop(): Promise<void> {
    this.#checking = undefined;
    this.#state = "down";
  }

  state(): PostgresState {
    return this.#state;
  }

  dsn(database: string): string {
    const url = new URL(this.#url);
    url.pathname = `/${encodeURIComponent(database)}`;
    return url.href;
  }

  async hasDatabase(database: string): Promise<boolean> {
    return await this.#reach(() => hasDatabase(this.#url.href, database));
  }

  async listDatabases(): Promise<readonly string[]> {
    return await this.#reach(() => listPostgresDatabases(this.#url.href));
  }

  async ensureDatabase(database: string): Promise<void> {
    await this.#reach(() => createDatabase(this.#url.href, database));
  }

  async copyDatabase(from: string, to: string): Promise<void> {
    await this.#reach(() => copyDatabase(this.#url.href, from, to));
  }

  async renameDatabase(from: string, to: string): Promise<void> {
    await this.#reach(() => renameDatabase(this.#url.href, from, to));
  }

  async dropDatabase(database: string): Promise<void> {
    await this.#reach(() => dropDatabase(this.#url.href, database));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Remembers whether the last request reached the server. */
  async #reach<T>(work: () => Promise<T>): Promise<T> {
    await this.start();
    try {
      return await work();
    } catch (error) {
      if (error instanceof AppError && error.code === "database_unavailable") await this.stop();
      throw error;
    }
  }

  async #check(): Promise<void> {
    this.#state = "starting";
    await withClient(this.#url.href, async (client) => {
      const found = await client.query<{ version: string; number: string; vector: boolean }>(
        "select current_setting('server_version') as version, current_setting('server_version_num') as number, " +
          "exists (select 1 from pg_available_extensions where name = 'vector') as vector",
      );
      const facts = found.rows[0];
      if (facts === undefined || Number(facts.number) < OLDEST_MAJOR * 10_000) {
        throw unsupported(`is PostgreSQL ${facts?.version}; ${OLDEST_MAJOR} or newer is required`, this.#url);
      }
      if (!facts.vector) throw unsupported("has no pgvector", this.#url);
    });
    this.#state = "up";
  }
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol)) {
    // the text may contain a password
    throw appError("config_invalid", {
      detail: "SERVICE_LOCAL_DATABASE_URL is not a valid PostgreSQL address.",
      hint: "Write: postgresql://user:password@host:5432/postgres",
      meta: { variable: "SERVICE_LOCAL_DATABASE_URL" },
    });
  }
  return url;
}

function unsupported(what: string, url: URL): Error {
  return appError("postgres_unsupported", {
    detail: `The server at ${url.host || url.searchParams.get("host")} ${what}.`,
    hint: "Point SERVICE_LOCAL_DATABASE_URL to a PostgreSQL 18 with pgvector, or unset it to use the PostgreSQL of the installation.",
  });
}
