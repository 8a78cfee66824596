import { randomUUID } from "node:crypto";
import type { Manifest, ManifestAnswerer, ManifestRowRoute, ManifestUpdateRoute } from "@appdb/contract/manifest";
import type { BodyLimit } from "@appdb/contract/service-limits";
import { DEFAULT_LIMITS, type ServiceSpec } from "@appdb/contract/service-spec";
import type { Catalog, CatalogFunction } from "../catalog/catalog.ts";
import { withJsonChecks } from "../compute/checked-runner.ts";
import { type Generators, layOutRow, neededComputed, type RowLayout } from "../compute/row-layout.ts";
import { withMadeRows } from "../compute/rows-runner.ts";
import type { HandlerRunner } from "../handler-ports.ts";
import { AnswerOnce } from "../idempotency/answer-once.ts";
import { RequestStore, type ResponseToStore } from "../idempotency/request-store.ts";
import type { JsonChecks } from "../kinds/json-checks.ts";
import { LiveQueries } from "../live/live-queries.ts";
import type { Clock, FormReader, Logger, MediaFiles, Spool, SqlConnection, SqlPool, UdfRunner } from "../ports.ts";
import { OpenQueries } from "../queries/open-queries.ts";
import type { RequestTracer } from "../request-tracer.ts";
import type { QueryLimits } from "../sql/query-limits.ts";
import { timestampOf } from "../values/parse-time.ts";
import { createUuid7 } from "../values/uuid7.ts";
import { BulkComputer } from "../write/bulk-computer.ts";
import { BulkWriter } from "../write/bulk-writer.ts";
import { ComputeStage } from "../write/compute-stage.ts";
import { computeVerb } from "../write/compute-verb.ts";
import { insertVerb } from "../write/insert-verb.ts";
import { AnsweredRows, NewRows } from "../write/new-rows.ts";
import { RowDeleter } from "../write/row-deleter.ts";
import { RowUpdater } from "../write/row-updater.ts";
import { TableStatements } from "../write/table-statements.ts";
import { planTableVersion, type ServiceIdentity } from "../write/table-version.ts";
import { TableVersionGuard } from "../write/table-version-guard.ts";
import type { WriteDeps } from "../write/write-pipeline.ts";
import { Admission } from "./admission.ts";
import { ComputeShare } from "./compute-share.ts";
import { declaredTable, unstoredColumns } from "./declared-table.ts";
import type { ConnectExport, SqlExport } from "./sql-export.ts";

/** A spool in memory, for callers without a file system. */
function createMemorySpool(): Spool {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    async write(piece) {
      const written = Buffer.from(piece);
      pieces.push(written);
      bytes += written.length;
    },
    async *read() {
      yield* pieces;
    },
    async [Symbol.asyncDispose]() {
      pieces = [];
    },
  };
}

export interface EndpointsDeps {
  readonly sql: SqlPool;
  /** Called when a row first needs Python, or earlier. */
  readonly udf: () => UdfRunner;
  /** Called when a request first needs a handler of the application, or earlier. */
  readonly handlers?: () => HandlerRunner;
  readonly log: Logger;
  readonly clock: Clock;
  /** Buffers large responses until they are read. Default: in memory. */
  readonly openSpool?: () => Spool;
  /** Connects to the databases that routes export to. */
  readonly connectExport?: ConnectExport;
  /** The files of media columns. Without it the tables have none. */
  readonly media?: MediaFiles;
  /** Receives uploads. Without it no route takes any. */
  readonly forms?: FormReader;
  /** What requests that compute rows share with those of other endpoints. Default: nothing. */
  readonly computes?: ComputeShare;
  /** For writes of people: called when the tables have changed, and these endpoints cannot use them any more. */
  readonly onStale?: (() => void) | undefined;
  /** Default: no tracing. */
  readonly tracer?: RequestTracer | undefined;
}

type MoreLimits =
  | "body_bytes"
  | "upload_bytes"
  | "insert_rows"
  | "route_requests"
  | "background_jobs"
  | "background_at_once"
  | "compute_bytes"
  | "made_bytes";

export interface EndpointsInput {
  readonly manifest: Manifest;
  /** Parsed local target: `main`, `main/reports`. */
  readonly target: string;
  readonly services: readonly string[];
  /** The service's limits. Omitted ones have their defaults. */
  readonly limits?: QueryLimits &
    Pick<ServiceSpec["limits"], "idempotency_keep_s"> &
    Partial<Pick<ServiceSpec["limits"], MoreLimits>> &
    Pick<BodyLimit, "raise_bodies">;
}

/** Requests with many rows that may store them at once. Each holds a connection to PostgreSQL for as long as its
 *  client sends (`AwaitedBody`). */
export const MANY_ROWS = { running: 2, spare: 1, waiting: 100 } as const;

/** The shared state of the routes of one process: a writer per table, the queries, and the tables at its start. */
export class RouteContext {
  readonly deps: EndpointsDeps;
  readonly input: EndpointsInput;
  readonly checks: JsonChecks;
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  readonly queries: OpenQueries;
  readonly once: AnswerOnce;
  readonly limits: QueryLimits & Pick<ServiceSpec["limits"], MoreLimits> & BodyLimit;
  readonly live: LiveQueries;
  readonly admission = new Admission(MANY_ROWS, "requests with many rows");
  readonly computes: ComputeShare;
  readonly openSpool: () => Spool;
  /** Exports to check before anything is served. */
  readonly exports: SqlExport[] = [];
  readonly generators: Generators;
  readonly #rowDeps: WriteDeps;
  readonly #catalog: Catalog;
  readonly #service: ServiceIdentity;
  readonly #layouts = new Map<string, { layout: RowLayout; guard: TableVersionGuard }>();
  readonly #inserters = new Map<string, Inserter>();
  readonly #updaters = new Map<string, RowUpdater>();
  readonly #draining: { drain(): Promise<void> }[] = [];

  constructor(deps: EndpointsDeps, input: EndpointsInput, catalog: Catalog, checks: JsonChecks) {
    this.checks = checks;
    this.deps = deps;
    this.input = input;
    this.#catalog = catalog;
    this.limits = { ...DEFAULT_LIMITS, ...input.limits };
    this.computes = deps.computes ?? new ComputeShare(this.limits);
    this.openSpool = deps.openSpool ?? createMemorySpool;
    // a failed replacement leaves columns that call functions of an earlier manifest
    this.functions = new Map([...catalog.functions, ...input.manifest.functions.map((fn) => [fn.id, fn] as const)]);
    const { idempotency_keep_s: keepS } = input.limits ?? DEFAULT_LIMITS;
    const requests = new RequestStore({ sql: deps.sql, clock: deps.clock, keep_s: keepS });
    this.once = new AnswerOnce(requests);
    this.generators = {
      uuid7: createUuid7(() => deps.clock.now()),
      uuid4: randomUUID,
      now: () => timestampOf(deps.clock.now()),
    };
    this.#rowDeps = {
      requests,
      sql: deps.sql,
      udf: checkedRunner(deps.udf, checks),
      ...this.generators,
      limits: this.limits,
    };
    this.live = new LiveQueries({ sql: deps.sql, log: deps.log, limits: this.limits });
    const { app_file: appFile, queries } = input.manifest;
    this.#service = { app_file: appFile, target: input.target, onStale: deps.onStale };
    this.queries = new OpenQueries(
      {
        sql: deps.sql,
        udf: deps.udf,
        functions: this.functions,
        limits: this.limits,
        service: this.#service,
        findTable: (name) => declaredTable(this.input, this.#catalog, name),
      },
      queries,
    );
  }

  /** One inserter per table and its unstored outputs, so that rows of all its routes of this kind share batches. */
  inserter(route: ManifestRowRoute): Inserter {
    const { layout, guard } = this.layout(route.table);
    const unstored = unstoredOutputs(layout, route);
    const key = [route.table, ...unstored].join("\0");
    const known = this.#inserters.get(key);
    if (known !== undefined) return known;
    const routes = this.#alike(route);
    const deps = this.#rowDeps;
    const columns = [...layout.computed, ...unstored];
    const stage = new ComputeStage(deps, { layout, functions: this.functions, columns });
    const statements = new TableStatements({
      layout,
      steps: stage.sql,
      read: new Set(routes.flatMap((route) => route.outputs)),
      keeps_errors: routes.some((route) => route.on_error === "ignore"),
    });
    const computing = insertVerb(deps, { statements, guard, computes: true });
    const insertOnly = insertVerb(deps, { statements, guard, computes: false });
    const rows = new NewRows(deps, { layout, stage, guard, computing, insertOnly });
    const opened = { layout, guard, stage, statements, rows };
    this.#inserters.set(key, opened);
    this.#draining.push(rows);
    return opened;
  }

  /** A table's row layout and version guard, shared by everything that writes to it. */
  layout(name: string): { layout: RowLayout; guard: TableVersionGuard } {
    const known = this.#layouts.get(name);
    if (known !== undefined) return known;
    const service = this.#service;
    const layout = layOutRow(declaredTable(this.input, this.#catalog, name), unstoredColumns(this.input, name));
    const now = planTableVersion(layout, this.#catalog, service);
    const opened = { layout, guard: new TableVersionGuard(this.deps.sql, layout, service, now) };
    this.#layouts.set(name, opened);
    return opened;
  }

  /** One updater per table, so that updates of all its routes of this kind share batches. */
  updater(route: ManifestUpdateRoute): RowUpdater {
    const layout = this.layout(route.table);
    const unstored = unstoredOutputs(layout.layout, route);
    const key = [route.table, ...unstored].join("\0");
    const known = this.#updaters.get(key);
    if (known !== undefined) return known;
    const routes = this.#alike(route);
    const updater = new RowUpdater(this.#rowDeps, {
      ...layout,
      unstored,
      functions: this.functions,
      read: new Set(routes.flatMap((route) => route.outputs)),
    });
    this.#updaters.set(key, updater);
    this.#draining.push(updater);
    return updater;
  }

  /**
   * Writers of a table whose statements are part of a transaction. `layout`: that of the table, perhaps with another key.
   * The caller awaits each row, so nothing needs to be drained.
   */
  writersIn(sql: SqlPool, name: string, layout: RowLayout): TransactionWriters {
    const deps = { ...this.#rowDeps, sql };
    const { functions } = this;
    const { guard } = this.layout(name);
    const read: ReadonlySet<string> = new Set();
    const stage = new ComputeStage(deps, { layout, functions, columns: layout.computed });
    const statements = new TableStatements({ layout, steps: stage.sql, read, keeps_errors: true });
    return {
      updater: new RowUpdater(deps, { layout, guard, functions, read, unstored: [] }),
      deleter: new RowDeleter(deps, { layout, guard, match: layout.table.primary_key }),
      rows: new NewRows(deps, {
        layout,
        stage,
        guard,
        computing: insertVerb(deps, { statements, guard, computes: true }),
        insertOnly: insertVerb(deps, { statements, guard, computes: false }),
      }),
    };
  }

  /** Deletes rows of a table by the values of some columns. */
  deleter(name: string, match: readonly string[]): RowDeleter {
    const deleter = new RowDeleter(this.#rowDeps, { ...this.layout(name), match });
    this.#draining.push(deleter);
    return deleter;
  }

  /** Runs the application's handlers. */
  handlers(): HandlerRunner {
    const { handlers } = this.deps;
    if (handlers === undefined) throw new TypeError("handlers cannot run here");
    return handlers();
  }

  /** The runner of computed columns, with their checks. */
  get udf(): () => UdfRunner {
    return this.#rowDeps.udf;
  }

  /** Rows for which a function makes the response; stored by `rows`. */
  answeredRows(name: string, answerer: ManifestAnswerer, rows: NewRows | null): AnsweredRows {
    const { layout } = this.layout(name);
    return new AnsweredRows(this.#rowDeps, { layout, functions: this.functions, answerer, rows });
  }

  /** Writes many rows at once into the table of an insert route. */
  bulkWriter(route: ManifestRowRoute): BulkWriter {
    return new BulkWriter(this.#rowDeps, { ...this.inserter(route), on_error: route.on_error });
  }

  /** Stores the response of a request in the transaction of its rows. @throws as `RequestStore.store` */
  keepAnswer(connection: SqlConnection, response: ResponseToStore): Promise<void> {
    return this.#rowDeps.requests.store(connection, [response]);
  }

  /** Computes `outputs` of many rows that are not stored. */
  bulkComputer({ on_error: onError, table }: ManifestRowRoute, outputs: readonly string[]): BulkComputer {
    const { layout, stage } = this.#computing(table, outputs);
    return new BulkComputer(this.#rowDeps, { layout, stage, on_error: onError });
  }

  /** Computes `outputs` of rows that are not stored. */
  computer(name: string, outputs: readonly string[]): NewRows {
    const deps = this.#rowDeps;
    const { guard, layout, stage } = this.#computing(name, outputs);
    const computing = computeVerb(deps, { layout, stage });
    const rows = new NewRows(deps, { layout, stage, guard, computing, insertOnly: null });
    this.#draining.push(rows);
    return rows;
  }

  #computing(name: string, outputs: readonly string[]) {
    const { layout, guard } = this.layout(name);
    const columns = neededComputed(layout, outputs);
    const stage = new ComputeStage(this.#rowDeps, { layout, functions: this.functions, columns });
    return { layout, guard, stage };
  }

  /** Resolves when no row and no query is in flight. */
  async drain(): Promise<void> {
    await this.live[Symbol.asyncDispose]();
    await Promise.all(this.#draining.map((one) => one.drain()));
    await Promise.all([this.queries.drain(), this.once.drain()]);
  }

  /** The served routes of the same kind over the same table. */
  #alike<Route extends ManifestRowRoute | ManifestUpdateRoute>({ kind, table }: Route): readonly Route[] {
    const { manifest, services } = this.input;
    return manifest.services
      .filter((service) => services.includes(service.name))
      .flatMap((service) => service.routes)
      .filter((route): route is Route => route.kind === kind && "table" in route && route.table === table);
  }
}

/** The unstored columns that a route returns, or that the function of its response takes. */
function unstoredOutputs({ unstored }: RowLayout, { outputs }: ManifestRowRoute | ManifestUpdateRoute): string[] {
  return unstored.filter((name) => outputs.includes(name));
}

/** The writers of a table within a transaction. */
interface TransactionWriters {
  readonly updater: RowUpdater;
  readonly deleter: RowDeleter;
  readonly rows: NewRows;
}

/** The writers of a table's new rows. */
interface Inserter {
  readonly layout: RowLayout;
  readonly guard: TableVersionGuard;
  readonly stage: ComputeStage;
  readonly statements: TableStatements;
  readonly rows: NewRows;
}

/** Makes the runner on first use and wraps it once. */
function checkedRunner(udf: () => UdfRunner, checks: JsonChecks): () => UdfRunner {
  let wrapped: { readonly inner: UdfRunner; readonly outer: UdfRunner } | undefined;
  return () => {
    const inner = udf();
    if (wrapped?.inner !== inner) wrapped = { inner, outer: withMadeRows(withJsonChecks(inner, checks)) };
    return wrapped.outer;
  };
}
