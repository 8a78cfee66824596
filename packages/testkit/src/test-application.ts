import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Manifest, manifestSchema } from "@appdb/contract/manifest";
import type { SchemaPlan } from "@appdb/contract/plan";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import type { FormReader, MediaFiles, QueryAnswerer, SqlPool, Statement, UdfRunner } from "@appdb/engine/ports";
import { planSchema } from "@appdb/engine/schema/plan-schema";
import { pruneTables } from "@appdb/engine/schema/prune-tables";
import type { QueryLimits } from "@appdb/engine/sql/query-limits";
import { createPythonWorkers } from "@appdb/python-runtime/workers/python-workers";
import { readManifest } from "@appdb/python-runtime/workers/read-manifest";
import { finishJobs, openTestCatalog, type ServedRoutes, type ServeParts } from "./test-catalog.ts";
import { testRuntime } from "./test-runtime.ts";

/** An application file, applied to a test catalog and served, with real Python workers. */
export interface TestApplication extends ServedRoutes {
  readonly sql: SqlPool;
  readonly dsn: string;
  /** Of the file as it was opened. */
  readonly manifest: Manifest;
  /** Workers with the file's functions, which the caller ends. */
  workers(): UdfRunner;
  /** Statements sent to PostgreSQL since the last call. */
  statements(): readonly Statement[];
  /** Serves another version of the file, which has been applied. */
  serve(app: string): Promise<ServedRoutes>;
  /** Serves other services over the same tables. */
  serveManifest(manifest: Manifest, deps?: ServeParts["deps"]): Promise<ServedRoutes>;
  /** Applies another version of the file; the endpoints stay those of the first. Returns the queued jobs. */
  update(app: string): Promise<readonly string[]>;
  /** The plan of an update to another version of the file. */
  diff(app: string): Promise<SchemaPlan>;
  /** Drops what a version of the file does not declare. Returns the names. */
  prune(app: string): Promise<readonly string[]>;
  /** Runs jobs until the named ones have ended. @throws errors of `watchJobs` */
  finish(jobs: readonly string[]): Promise<void>;
}

/** The media of an application, as a service has them. */
export interface ApplicationMedia extends AsyncDisposable {
  readonly files: MediaFiles;
  readonly forms: FormReader;
  workerEnv(env: Readonly<Record<string, string>>): Record<string, string>;
  wrap(runner: UdfRunner): UdfRunner;
  serve(): Promise<void>;
}

/** Opens the media of a database. `folder`: private and removed with the application. */
export type OpenApplicationMedia = (folder: string, sql: SqlPool) => ApplicationMedia;

export async function openTestApplication(
  app: string,
  limits: Partial<QueryLimits> = {},
  openMedia?: OpenApplicationMedia,
): Promise<TestApplication> {
  const project = mkdtempSync(join(tmpdir(), "appdb-application-"));
  const all = { ...DEFAULT_LIMITS, ...limits };
  const catalog = await openTestCatalog({ statement_timeout_ms: all.statement_timeout_ms });
  const { clock, log } = catalog;
  const seen: Statement[] = [];
  const sql = watched(catalog.sql, seen);
  const media = openMedia?.(join(project, "media"), catalog.sql);
  const runtime = testRuntime(project, media?.workerEnv({}));
  const workers = (modules: readonly string[], onQuery: QueryAnswerer) => {
    const plain = createPythonWorkers({
      runtime,
      modules,
      workers: 1,
      function_timeout_ms: 30_000,
      worker_memory_mb: 1_000,
      onQuery,
      log,
      onOutput: (line) => process.stderr.write(`${line}\n`),
    });
    return media?.wrap(plain) ?? plain;
  };
  const read = async (source: string): Promise<Manifest> => {
    writeFileSync(join(project, "app.py"), source);
    return manifestSchema.parse(await readManifest({ runtime, app_file: "app.py" }));
  };
  const apply = async (manifest: Manifest) => (await catalog.apply(manifest, { allow_destructive: true })).jobs;
  const serve = async (manifest: Manifest, deps: ServeParts["deps"] = {}): Promise<ServedRoutes> => {
    let runner: UdfRunner | undefined;
    const udf = () => {
      runner ??= workers(["app"], (query, args) => served.endpoints.answerQuery(query, args));
      return runner;
    };
    const files = media === undefined ? {} : { media: media.files, forms: media.forms };
    const served = await catalog.serve(manifest, { deps: { sql, udf, ...files, ...deps }, limits });
    return {
      ...served,
      async [Symbol.asyncDispose]() {
        await served[Symbol.asyncDispose]();
        await runner?.[Symbol.asyncDispose]();
      },
    };
  };
  const manifest = await read(app);
  await apply(manifest);
  await media?.serve();
  const served = await serve(manifest);
  return {
    ...served,
    sql: catalog.sql,
    dsn: catalog.dsn,
    manifest,
    workers: () => workers(["app"], async () => null),
    statements: () => seen.splice(0),
    serve: async (source) => serve(await read(source)),
    serveManifest: serve,
    update: async (source) => apply(await read(source)),
    diff: async (source) =>
      planSchema({ manifest: await read(source), catalog: await loadCatalog(catalog.sql), target: "main" }).plan,
    async prune(source) {
      const { version } = await loadCatalog(catalog.sql);
      const input = { manifest: await read(source), target: "main", catalog_version: version };
      const { ops } = await pruneTables({ sql: catalog.sql, clock, log }, input);
      return ops.map(({ name }) => name ?? "");
    },
    async finish(jobs) {
      const udf = async (_runtime: unknown, modules: readonly string[], onQuery: QueryAnswerer) =>
        workers(modules, onQuery);
      await finishJobs({ sql: catalog.sql, udf, clock, log, owner: "test", query_limits: all }, jobs);
    },
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await media?.[Symbol.asyncDispose]();
      await catalog[Symbol.asyncDispose]();
      rmSync(project, { recursive: true, force: true });
    },
  };
}

/** The pool, with every statement recorded. */
function watched(pool: SqlPool, seen: Statement[]): SqlPool {
  return {
    query: (statement) => {
      seen.push(statement);
      return pool.query(statement);
    },
    withConnection: (work) => pool.withConnection(work),
    transaction: (work) =>
      pool.transaction((connection) =>
        work({
          query: (statement) => {
            seen.push(statement);
            return connection.query(statement);
          },
          copy: (text, rows) => connection.copy(text, rows),
          process: connection.process,
        }),
      ),
    listen: (channel, onNotify, signal) => pool.listen(channel, onNotify, signal),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}
