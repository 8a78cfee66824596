import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readManifest } from "@appdb/adapters/images/read-manifest";
import { createPgPool } from "@appdb/adapters/postgres/pg-pool";
import { createPythonWorkers } from "@appdb/adapters/udf/python-workers";
import { type Manifest, manifestSchema } from "@appdb/contract/manifest";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { type Endpoints, openEndpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { SqlPool, Statement, UdfRunner } from "@appdb/engine/ports";
import type { QueryLimits } from "@appdb/engine/queries/query-limits";
import { applySchema } from "@appdb/engine/schema/apply-schema";
import { ensureCatalog } from "@appdb/engine/schema/ensure-catalog";
import { loadCatalog } from "@appdb/engine/schema/load-catalog";
import { findCheckout } from "./postgres-binaries.ts";
import { createSilentLog } from "./silent-log.ts";
import { createTestDatabase } from "./test-database.ts";

export interface Answer {
  readonly status: number;
  // What tests look into is JSON of any shape.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the test asserts
  readonly json: any;
  readonly text: string;
}

/** An application file, applied to a database and served, with real Python workers. */
export interface QueriesStage extends AsyncDisposable {
  readonly sql: SqlPool;
  readonly manifest: Manifest;
  readonly endpoints: Endpoints;
  /** Statements that went to PostgreSQL since the last call. */
  statements(): readonly Statement[];
  get(path: string, signal?: AbortSignal): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
  /** Applies another version of the file; the endpoints stay those of the first. */
  update(app: string): Promise<void>;
}

const CHECKOUT = findCheckout(import.meta.dirname);

export async function openQueriesStage(app: string, limits: Partial<QueryLimits> = {}): Promise<QueriesStage> {
  const database = await createTestDatabase();
  const project = mkdtempSync(join(tmpdir(), "appdb-queries-"));
  const all = { ...DEFAULT_LIMITS, ...limits };
  const pool = createPgPool({
    dsn: database.dsn,
    max: 6,
    application_name: "queries test",
    statement_timeout_ms: all.statement_timeout_ms,
  });
  const seen: Statement[] = [];
  const sql = watched(pool, seen);
  const tools = join(CHECKOUT, ".tools", "lib");
  const runtime = {
    python: join(CHECKOUT, ".tools", "bin", "python"),
    python_source: "test",
    project_root: project,
    library_paths: [join(CHECKOUT, "python"), ...readdirSync(tools).map((name) => join(tools, name, "site-packages"))],
    env: { PATH: process.env.PATH ?? "", PYTHONDONTWRITEBYTECODE: "1" },
  };
  const log = createSilentLog();
  let runner: UdfRunner | undefined;
  const udf = () => {
    runner ??= createPythonWorkers({
      runtime,
      modules: ["app"],
      workers: 1,
      function_timeout_ms: 30_000,
      worker_memory_mb: 1_000,
      log,
      onOutput: (line) => process.stderr.write(`${line}\n`),
    });
    return runner;
  };
  const apply = async (source: string): Promise<Manifest> => {
    writeFileSync(join(project, "app.py"), source);
    const manifest = manifestSchema.parse(await readManifest({ runtime, app_file: "app.py" }));
    const { version: catalog_version } = await loadCatalog(pool);
    const input = { manifest, target: "main", catalog_version, allow_destructive: true, runtime_id: "r1" };
    await applySchema({ sql: pool, clock: { now: Date.now }, log }, input);
    return manifest;
  };
  await ensureCatalog(pool);
  const manifest = await apply(app);
  const services = manifest.services.map((service) => service.name);
  const deps = { sql, udf, log, clock: { now: Date.now } };
  const endpoints = await openEndpoints(deps, { manifest, target: "main", services, limits: all });
  const ask = async (method: string, path: string, body: string, search: string, signal?: AbortSignal) => {
    const route = endpoints.routes.find((known) => known.method === method && known.path === path);
    if (route === undefined) throw new Error(`no route ${method} ${path}`);
    const answer = await route.handle({ body, search, headers: {}, id: "req-1", signal });
    return { status: answer.status, text: answer.body, json: JSON.parse(answer.body) };
  };
  return {
    sql: pool,
    manifest,
    endpoints,
    statements: () => seen.splice(0),
    get: (path, signal) => {
      const [place = "", search = ""] = path.split("?", 2);
      return ask("GET", place, "", search, signal);
    },
    post: (path, body) => ask("POST", path, typeof body === "string" ? body : JSON.stringify(body), ""),
    update: async (source) => void (await apply(source)),
    async [Symbol.asyncDispose]() {
      await endpoints[Symbol.asyncDispose]();
      await runner?.[Symbol.asyncDispose]();
      await pool[Symbol.asyncDispose]();
      await database.drop();
      rmSync(project, { recursive: true, force: true });
    },
  };
}

/** The pool, with every statement noted. */
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
        }),
      ),
    listen: (channel, onNotify, signal) => pool.listen(channel, onNotify, signal),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}
