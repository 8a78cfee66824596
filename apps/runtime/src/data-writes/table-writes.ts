import { appError } from "@appdb/contract/errors";
import type { OnError } from "@appdb/contract/jobs";
import type { Manifest, ManifestTable } from "@appdb/contract/manifest";
import type { MediaPlace } from "@appdb/contract/media-place";
import { isProgramFunction, isProgramModule } from "@appdb/contract/program-code";
import type { Runtime } from "@appdb/contract/runtime";
import type { BodyLimit } from "@appdb/contract/service-limits";
import type { ServiceSpec } from "@appdb/contract/service-spec";
import { logOfPeople } from "@appdb/engine/answers/answers";
import { loadDefinitions } from "@appdb/engine/catalog/load-catalog";
import { runtimeOfRows, tablesOfRuntime } from "@appdb/engine/catalog/row-runtimes";
import { declaresMedia, destinationsOf } from "@appdb/engine/endpoints/media-routes";
import { type Endpoints, openEndpoints } from "@appdb/engine/endpoints/open-endpoints";
import { insertServices } from "@appdb/engine/endpoints/table-routes";
import type { Clock, Logger, Spool, SqlPool } from "@appdb/engine/ports";
import { seenColumns } from "@appdb/engine/queries/list-rows";
import { ComputeShare } from "@appdb/engine/routes/compute-share";
import type { CompiledRoute } from "@appdb/engine/routes/route";
import { declaredTables } from "@appdb/engine/table-changes/declared-tables";
import { functionsCalled } from "@appdb/engine/table-changes/refuse-change";
import type { TableWriter } from "@appdb/engine/table-writes/table-writer";
import { folderSchema } from "@appdb/engine/target";
import type { ReadableTable } from "@appdb/engine/views/view-tables";
import { createFileSpool } from "@appdb/system/files/file-spool";
import { emptyManifest } from "../code/local-manifests.ts";
import type { ProgramCode } from "../code/program-code.ts";
import type { RuntimeStore } from "../code/runtime-store.ts";
import { collectHourly } from "../databases/collect-hourly.ts";
import { LazyWorkers } from "../databases/lazy-workers.ts";
import { mediaDeps, openMedia } from "../media/open-media.ts";
import { outputsOf, TableComputes } from "./table-computes.ts";

/** Releases resources, above all Python processes, after this time without rows. */
const IDLE_MS = 60_000;

export interface TableWritesDeps {
  readonly sql: SqlPool;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: ServiceSpec["limits"] & BodyLimit;
  readonly runtimes: Pick<RuntimeStore, "find">;
  /** Python for tables that no update of an application file made: it explains operators that fail. */
  readonly plain_runtime?: Runtime;
  /** Functions of running programs; undefined: there are none. */
  readonly programs?: ProgramCode;
  /** Manifests of applied updates. */
  readonly manifests: { applied(runtimeId: string, target: string): Promise<Manifest> };
  /** The place of the database's media, by the environment of a runtime. */
  readonly mediaOf: (env: Readonly<Record<string, string>>) => MediaPlace;
  /** The address of a token. */
  readonly printAddress: (base: string, token: string) => string;
  /** For bodies and responses that wait; by default in the system's temporary folder. */
  readonly openSpool?: () => Spool;
}

/** What writes the rows of a table. */
export interface WritableTable {
  /** The insert route over the whole table, by how it handles a cell that fails. */
  insert(onError: OnError): CompiledRoute;
  /** The route that computes rows of the table or view and stores none. @throws column_not_found */
  compute(asked: ComputeRequest): Promise<CompiledRoute>;
  readonly writer: TableWriter;
}

export interface ComputeRequest {
  readonly on_error: OnError;
  /** Names of columns; undefined: all that are stored. */
  readonly outputs: readonly string[] | undefined;
}

/**
 * Writes of people, over whole tables as their last update declared them. The first row creates routes and workers for
 * all tables of an application file. They are released when no requests arrive.
 */
export class TableWrites implements AsyncDisposable {
  readonly #deps: TableWritesDeps;
  readonly #opened = new Map<string, OpenedTables>();
  readonly #closing = new Set<Promise<void>>();
  readonly #share: ComputeShare;
  readonly #timer: NodeJS.Timeout;

  constructor(deps: TableWritesDeps) {
    this.#deps = deps;
    this.#share = new ComputeShare(deps.limits);
    this.#timer = setInterval(() => this.#release((one) => one.isIdle(deps.clock.now() - IDLE_MS)), IDLE_MS / 4);
    this.#timer.unref();
  }

  /**
   * Provides what writes a table during `work`; `target` is its location as users write it.
   * @throws schema_mismatch when the files of its last update are gone
   */
  async use<T>(table: ReadableTable, target: string, work: (table: WritableTable) => Promise<T>): Promise<T> {
    const runtimeId = await runtimeOfRows(this.#deps.sql, (table.view?.table ?? table).id);
    const key = `${target}\n${runtimeId ?? ""}`;
    let opened = this.#opened.get(key);
    if (opened === undefined) {
      const created = new OpenedTables(this.#deps, this.#share, runtimeId, target, () =>
        this.#release((one) => one === created),
      );
      opened = created;
      this.#opened.set(key, opened);
    }
    try {
      return await opened.use(async ({ computes, endpoints, inserts, unstored, without_code: withoutCode }) => {
        const called = withoutCode.get(table.name);
        if (called !== undefined) throw hasNoCode(target, table.name, called);
        const declared = unstored.get(table.name);
        if (declared === undefined) throw notDeclared(target, table.name);
        return await work({
          insert: (onError) => {
            const isInsert = ({ path, service }: CompiledRoute) =>
              service === inserts[onError] && path === `/${table.name}`;
            const route = endpoints.routes.find(isInsert);
            if (route === undefined) throw new TypeError(`${table.name} has no insert route.`);
            return route;
          },
          compute: async ({ on_error, outputs }) => {
            const seen = seenColumns(table).map(({ name }) => name);
            // the number of a row that makes rows has the name of its view, with a dot, and no request can name it
            const stored = seen.filter((name) => !name.includes("."));
            const all = outputsOf(`${target}/${table.name}`, outputs ?? stored, [...stored, ...declared]);
            return await computes.route({ name: table.name, on_error, outputs: all });
          },
          get writer() {
            return endpoints.writer(table.name);
          },
        });
      });
    } finally {
      // after a failure, the next request tries again
      if (opened.has_failed && this.#opened.get(key) === opened) this.#opened.delete(key);
    }
  }

  /** Makes the next row reopen everything, after an update. Running requests finish unchanged. */
  renew(): void {
    this.#release(() => true);
  }

  /** Ends the workers that run functions of programs; the next row starts others. */
  endPrograms(): void {
    this.#release((one) => one.runs_programs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.renew();
    await Promise.all(this.#closing);
  }

  #release(isSelected: (one: OpenedTables) => boolean): void {
    for (const [key, one] of this.#opened) {
      if (!isSelected(one)) continue;
      this.#opened.delete(key);
      const closing = one
        .close()
        .catch((error: unknown) => this.#deps.log.warn({ err: error }, "closing the routes of tables failed"))
        .finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
  }
}

interface Opened {
  readonly endpoints: Endpoints;
  /** Names of the services with the insert routes. */
  readonly inserts: Readonly<Record<OnError, string>>;
  readonly computes: TableComputes;
  /** Of each table and view, the columns that are not stored. */
  readonly unstored: ReadonlyMap<string, readonly string[]>;
  /** Tables that call a function whose code no update has stored, with its id. They do not affect the others. */
  readonly without_code: ReadonlyMap<string, string>;
  /** Whether a function of a program computes a column. */
  readonly runs_programs: boolean;
  close(): Promise<void>;
}

/** The tables of one application file, with their routes and the workers for their columns. */
class OpenedTables {
  readonly #deps: TableWritesDeps;
  readonly #opening: Promise<Opened>;
  #requests = 0;
  #usedAt: number;
  #whenIdle = (): void => undefined;
  has_failed = false;
  runs_programs = false;

  /** `onStale`: called when the tables have changed in a way that only opening them again handles. */
  constructor(
    deps: TableWritesDeps,
    share: ComputeShare,
    runtimeId: string | null,
    target: string,
    onStale: () => void,
  ) {
    this.#deps = deps;
    this.#usedAt = deps.clock.now();
    this.#opening = open(deps, share, { runtime_id: runtimeId, target, onStale });
    this.#opening.then(
      (opened) => {
        this.runs_programs = opened.runs_programs;
      },
      () => {
        this.has_failed = true;
      },
    );
  }

  async use<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    this.#requests += 1;
    try {
      return await work(await this.#opening);
    } finally {
      this.#requests -= 1;
      this.#usedAt = this.#deps.clock.now();
      if (this.#requests === 0) this.#whenIdle();
    }
  }

  isIdle(since: number): boolean {
    return this.#requests === 0 && this.#usedAt <= since;
  }

  /** Waits for running requests; the caller sends no new ones. */
  async close(): Promise<void> {
    if (this.#requests > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    if (!this.has_failed) await (await this.#opening).close();
  }
}

async function open(
  {
    sql,
    clock,
    log,
    limits,
    runtimes,
    plain_runtime: plainRuntime,
    programs,
    manifests,
    mediaOf,
    printAddress,
    openSpool = createFileSpool,
  }: TableWritesDeps,
  share: ComputeShare,
  {
    runtime_id: runtimeId,
    target,
    onStale,
  }: { readonly runtime_id: string | null; readonly target: string; readonly onStale: () => void },
): Promise<Opened> {
  // Without a runtime, the tables were made by requests, and none of their columns calls a function of Python.
  const stored = runtimeId === null ? plainRuntime : runtimes.find(runtimeId)?.runtime;
  if (runtimeId !== null && stored === undefined) throw filesRemoved(target);
  const declared = runtimeId === null ? emptyManifest() : await manifests.applied(runtimeId, target);
  // another file's update may have taken over a table
  const own = await tablesOfRuntime(sql, folderSchema(target), runtimeId);
  const catalog = await loadDefinitions(sql);
  const all = declaredTables(catalog, folderSchema(target), own, declared.tables);
  const withoutCode = runtimeId === null ? withoutCodeOf(all) : new Map<string, string>();
  const tables = all.filter(({ name }) => !withoutCode.has(name));
  const called = JSON.stringify(tables);
  const isCalled = (id: string) => called.includes(JSON.stringify(id));
  const functions = declared.functions.filter(({ id }) => !isProgramFunction(id) || isCalled(id));
  const applied = { ...declared, functions };
  // Columns whose replacement runs or has failed may call functions that the manifest does not have any more.
  const stillCalled = [...catalog.functions.values()].filter(({ id }) => isCalled(id));
  const modules = [...new Set([...functions, ...stillCalled].map(({ module }) => module))];
  const runtime = stored === undefined ? undefined : ((await programs?.extend(stored, modules)) ?? stored);
  const inserts = insertServices({ ...applied, tables });
  const manifest = { ...applied, tables, services: [inserts.abort, inserts.ignore] };
  const mediaInput = {
    place: mediaOf(runtime?.env ?? {}),
    env: runtime?.env ?? {},
    hosted: runtime?.hosted,
    destinations: destinationsOf(applied.tables),
    sql,
    log,
    print_address: printAddress,
  };
  const media = declaresMedia(manifest) ? openMedia(mediaInput) : undefined;
  await media?.serve().catch(async (error: unknown) => {
    await media[Symbol.asyncDispose]();
    throw error;
  });
  // workers call back for columns with queries; the first row creates them, after the endpoints
  const answer: ConstructorParameters<typeof LazyWorkers>[2] = (query, args) => endpoints.answerQuery(query, args);
  const workers =
    runtime === undefined ? undefined : new LazyWorkers({ runtime, manifest, modules, limits, media }, log, answer);
  const closeOthers = async () => {
    await workers?.[Symbol.asyncDispose]();
    await media?.[Symbol.asyncDispose]();
  };
  const deps = {
    sql,
    udf: () => workers?.get() ?? refusePython(target),
    log: logOfPeople(log),
    clock,
    openSpool,
    computes: share,
    onStale,
    ...mediaDeps(media),
  };
  const endpoints = await openEndpoints(deps, {
    manifest,
    target,
    services: manifest.services.map(({ name }) => name),
    limits,
  }).catch(async (error: unknown) => {
    // each attempt would keep a socket and folders
    await closeOthers();
    throw error;
  });
  const collecting = collectHourly(endpoints, log);
  const computes = new TableComputes(deps, { manifest, target, limits });
  return {
    endpoints,
    inserts: { abort: inserts.abort.name, ignore: inserts.ignore.name },
    computes,
    unstored: new Map(tables.map(({ name, unstored = [] }) => [name, unstored.map((column) => column.name)])),
    without_code: withoutCode,
    runs_programs: modules.some(isProgramModule),
    close: async () => {
      collecting[Symbol.dispose]();
      await computes[Symbol.asyncDispose]();
      await endpoints[Symbol.asyncDispose]();
      await closeOthers();
    },
  };
}

/** The tables without code, each with the base and the views that share its rows. */
function withoutCodeOf(tables: readonly ManifestTable[]): Map<string, string> {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const rootOf = (table: ManifestTable): string => {
    const base = table.view === undefined ? undefined : byName.get(table.view.base);
    return base === undefined ? table.name : rootOf(base);
  };
  const called = new Map<string, string>();
  for (const table of tables) {
    const [first] = functionsCalled(table);
    if (first !== undefined) called.set(rootOf(table), first);
  }
  return new Map(
    tables.flatMap((table) => {
      const id = called.get(rootOf(table));
      return id === undefined ? [] : [[table.name, id] as const];
    }),
  );
}

function hasNoCode(target: string, table: string, id: string): Error {
  const [module = ""] = id.split(":");
  return appError("schema_mismatch", {
    detail: `A column of ${target}/${table} calls ${id}, and no update has stored its module.`,
    hint: `Add ${module.replaceAll(".", "/")}.py to the project, then run: cli db update`,
    meta: { target, table, function: id },
  });
}

/** @throws schema_mismatch */
function refusePython(target: string): never {
  throw appError("schema_mismatch", {
    detail: `A column of ${target} is computed by Python, and no update says with which one.`,
    hint: `Declare the tables in a file, and bring them up to date: cli schema update <app file> ${target}`,
    meta: { target },
  });
}

function filesRemoved(target: string): Error {
  return appError("schema_mismatch", {
    detail: `The project files of the last update of ${target} are not kept any more; rows cannot be computed without them.`,
    hint: `Update the tables by the files as they are now: cli schema update <app file> ${target}`,
    meta: { target },
  });
}

function notDeclared(target: string, table: string): Error {
  return appError("schema_mismatch", {
    detail: `No update says how rows of ${target}/${table} are made.`,
    hint: `Bring the tables up to date: cli schema update <app file> ${target}`,
    meta: { target, table },
  });
}
