import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Manifest, manifestSchema } from "@appdb/contract/manifest";
import type { SchemaPlan } from "@appdb/contract/plan";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { wholeText } from "@appdb/engine/answers/answers";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import { type Endpoints, openEndpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { JobDeps } from "@appdb/engine/jobs/job-deps";
import { runJobs } from "@appdb/engine/jobs/run-jobs";
import { watchJobs } from "@appdb/engine/jobs/watch-jobs";
import type { FormReader, MediaFiles, QueryAnswerer, SqlPool, Statement, UdfRunner } from "@appdb/engine/ports";
import { planSchema } from "@appdb/engine/schema/plan-schema";
import type { QueryLimits } from "@appdb/engine/sql/query-limits";
import { createPythonWorkers } from "@appdb/python-runtime/workers/python-workers";
import { readManifest } from "@appdb/python-runtime/workers/read-manifest";
import { EventReader } from "./event-reader.ts";
import { openSchemaStage } from "./schema-stage.ts";
import { testRuntime } from "./test-runtime.ts";

export interface Answer {
  readonly status: number;
  // What tests look into is JSON of any shape.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the test asserts
  readonly json: any;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface AskOptions {
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The media of a stage's application, as a service has them. */
export interface StageMedia extends AsyncDisposable {
  readonly files: MediaFiles;
  readonly forms: FormReader;
  workerEnv(env: Readonly<Record<string, string>>): Record<string, string>;
  wrap(runner: UdfRunner): UdfRunner;
  ready(): Promise<void>;
}

/** Opens the media of a database. `folder`: private and removed with the stage. */
export type OpenStageMedia = (folder: string, sql: SqlPool) => StageMedia;

/** Routes of an application file, with real Python workers. */
export interface ServedApp extends AsyncDisposable {
  readonly manifest: Manifest;
  readonly endpoints: Endpoints;
  get(path: string, options?: AskOptions): Promise<Answer>;
  post(path: string, body: unknown, options?: AskOptions): Promise<Answer>;
  /** The response of a route to `accept: text/event-stream`. */
  stream(path: string, options?: AskOptions): Promise<EventReader>;
}

/** An application file, applied to a database and served, with real Python workers. */
export interface QueriesStage extends ServedApp {
  readonly sql: SqlPool;
  /** Statements sent to PostgreSQL since the last call. */
  statements(): readonly Statement[];
  /** Serves another version of the file, which has been applied. */
  serve(app: string): Promise<ServedApp>;
  /** Applies another version of the file; the endpoints stay those of the first. Returns the queued jobs. */
  update(app: string): Promise<readonly string[]>;
  /** The plan of an update to another version of the file. */
  diff(app: string): Promise<SchemaPlan>;
  /** Runs jobs until the named ones have ended. @throws errors of `watchJobs` */
  finish(jobs: readonly string[]): Promise<void>;
}

export async function openQueriesStage(
  app: string,
  limits: Partial<QueryLimits> = {},
  openMedia?: OpenStageMedia,
): Promise<QueriesStage> {
  const project = mkdtempSync(join(tmpdir(), "appdb-queries-"));
  const all = { ...DEFAULT_LIMITS, ...limits };
  const schema = await openSchemaStage({ statement_timeout_ms: all.statement_timeout_ms });
  const { sql: pool, clock, log } = schema;
  const seen: Statement[] = [];
  const sql = watched(pool, seen);
  const media = openMedia?.(join(project, "media"), pool);
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
  const apply = async (manifest: Manifest) => (await schema.apply(manifest, { allow_destructive: true })).jobs;
  const finish = async (jobs: readonly string[]): Promise<void> => {
    const forJobs: JobDeps["udf"] = async (_runtime, modules, onQuery) => workers(modules, onQuery);
    const jobDeps = { sql: pool, udf: forJobs, clock, log, owner: "stage", query_limits: all };
    const stop = new AbortController();
    const running = runJobs(jobDeps, stop.signal);
    try {
      await watchJobs(jobDeps, jobs, () => undefined, stop.signal);
    } finally {
      stop.abort();
      await running;
    }
  };
  const manifest = await read(app);
  await apply(manifest);
  await media?.ready();
  const serve = async (app: Manifest): Promise<ServedApp> => {
    let runner: UdfRunner | undefined;
    const udf = () => {
      runner ??= workers(["app"], (query, args) => endpoints.answerQuery(query, args));
      return runner;
    };
    const services = app.services.map((service) => service.name);
    const endpoints = await openEndpoints(
      { sql, udf, log, clock, ...(media === undefined ? {} : { media: media.files, forms: media.forms }) },
      { manifest: app, target: "main", services, limits: all },
    );
    const send = async (method: string, address: string, body: string, options: AskOptions = {}) => {
      const [path = "", search = ""] = address.split("?", 2);
      const route = endpoints.routes.find((known) => known.method === method && known.path === path);
      if (route === undefined) throw new Error(`no route ${method} ${path}`);
      const { signal, headers = {} } = options;
      return route.handle({ body, search, headers, id: "req-1", signal });
    };
    const ask = async (method: string, address: string, body: string, options: AskOptions = {}) => {
      const answer = await send(method, address, body, options);
      const text = wholeText(answer);
      return { status: answer.status, text, headers: answer.headers, json: text === "" ? null : JSON.parse(text) };
    };
    return {
      manifest: app,
      endpoints,
      get: (path, options) => ask("GET", path, "", options),
      post: (path, body, options) => ask("POST", path, typeof body === "string" ? body : JSON.stringify(body), options),
      stream: async (path, options) => {
        const headers = { ...options?.headers, accept: "text/event-stream" };
        const { status, body } = await send("GET", path, "", { ...options, headers });
        if (typeof body === "string" || Buffer.isBuffer(body)) throw new Error(`no stream: ${status} ${body}`);
        return new EventReader(body);
      },
      async [Symbol.asyncDispose]() {
        await endpoints[Symbol.asyncDispose]();
        await runner?.[Symbol.asyncDispose]();
      },
    };
  };
  const served = await serve(manifest);
  return {
    ...served,
    sql: pool,
    statements: () => seen.splice(0),
    serve: async (source) => serve(await read(source)),
    update: async (source) => apply(await read(source)),
    diff: async (source) =>
      planSchema({ manifest: await read(source), catalog: await loadCatalog(pool), target: "main" }).plan,
    finish,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await media?.[Symbol.asyncDispose]();
      await schema[Symbol.asyncDispose]();
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
        }),
      ),
    listen: (channel, onNotify, signal) => pool.listen(channel, onNotify, signal),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}
