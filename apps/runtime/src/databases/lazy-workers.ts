import type { Manifest, ManifestService } from "@appdb/contract/manifest";
import type { ServiceSpec } from "@appdb/contract/service-spec";
import type { GraphFunction } from "@appdb/contract/worker-protocol";
import type { Endpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { HandlerRunner } from "@appdb/engine/handler-ports";
import type { Logger, QueryAnswerer, UdfRunner, UdfStats } from "@appdb/engine/ports";
import { routeKind } from "@appdb/engine/route-kinds/route-kinds";
import { createHandlerWorkers } from "@appdb/python-runtime/handlers/handler-workers";
import { createPythonWorkers } from "@appdb/python-runtime/workers/python-workers";
import type { OpenMedia } from "../media/open-media.ts";
import { watchFiles } from "./changed-files.ts";

interface WorkersSpec extends Pick<ServiceSpec, "runtime" | "manifest" | "limits"> {
  /** Undefined for an application without media columns. */
  readonly media: OpenMedia | undefined;
  /** Modules of functions that columns call. Default: those of the manifest's functions. */
  readonly modules?: readonly string[];
}

type HandlersSpec = Pick<ServiceSpec, "runtime" | "manifest" | "limits"> & Pick<ServiceSpec, "services">;

/** Starts Python workers with the first row that needs them, or earlier by `start`. */
export class LazyWorkers implements AsyncDisposable {
  readonly #spec: WorkersSpec;
  readonly #log: Logger;
  readonly #onQuery: QueryAnswerer;
  #runner: UdfRunner | undefined;
  #starting: Promise<void> | undefined;

  constructor(spec: WorkersSpec, log: Logger, onQuery: QueryAnswerer) {
    this.#spec = spec;
    this.#log = log;
    this.#onQuery = onQuery;
  }

  get(): UdfRunner {
    this.#runner ??= this.#create();
    return this.#runner;
  }

  #create(): UdfRunner {
    const { runtime, manifest, limits, media } = this.#spec;
    const workers = createPythonWorkers({
      runtime: media === undefined ? runtime : { ...runtime, env: media.workerEnv(runtime.env) },
      modules: rowModules(manifest, this.#spec.modules),
      workers: runtime.workers ?? limits.workers,
      function_timeout_ms: limits.function_timeout_ms,
      worker_memory_mb: limits.worker_memory_mb,
      log: this.#log,
      onReady: watchFiles(this.#spec, this.#log),
      onQuery: this.#onQuery,
      onOutput: (line) => this.#log.info({ line }, "output"),
    });
    return media === undefined ? workers : media.wrap(workers);
  }

  /** Starts the workers once and returns the same promise afterwards. @throws worker_unavailable */
  start(): Promise<void> {
    if (this.#starting === undefined) {
      this.#starting = this.get().start();
      // the awaiting caller gets the error
      this.#starting.catch(() => undefined);
    }
    return this.#starting;
  }

  /** Ends the workers. The next row that needs them starts new ones. */
  async end(): Promise<void> {
    const runner = this.#runner;
    this.#runner = undefined;
    this.#starting = undefined;
    await runner?.[Symbol.asyncDispose]();
  }

  /** Statistics of the workers; undefined before their first start. */
  stats(): UdfStats | undefined {
    return this.#runner?.stats();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

/** Modules of functions that columns call, and of those that build answers from rows. */
function rowModules(
  { functions, services }: Manifest,
  called: readonly string[] = functions.map(({ module }) => module),
): string[] {
  return [...new Set([...called, ...routeModules(services, false)])];
}

/** Modules of functions that routes name: handlers, or functions of compiled routes. */
function routeModules(services: readonly ManifestService[], ofHandlers: boolean): string[] {
  return services
    .flatMap(({ routes }) => routes.filter((route) => routeKind(route).isHandler === ofHandlers))
    .flatMap((route) => ("handler" in route ? (route.handler?.module ?? []) : []));
}

/** Processes for hand-written handlers, started like `LazyWorkers`. */
export class LazyHandlers implements AsyncDisposable {
  readonly #spec: HandlersSpec;
  readonly #log: Logger;
  readonly #endpoints: () => Pick<Endpoints, "inside" | "answerHandler">;
  #runner: HandlerRunner | undefined;

  /** `endpoints` is called by the first request at the earliest. */
  constructor(spec: HandlersSpec, log: Logger, endpoints: () => Pick<Endpoints, "inside" | "answerHandler">) {
    this.#spec = spec;
    this.#log = log;
    this.#endpoints = endpoints;
  }

  get(): HandlerRunner {
    const { runtime, limits } = this.#spec;
    this.#runner ??= createHandlerWorkers({
      runtime,
      modules: handlerModules(this.#spec),
      app: applicationOf(this.#spec),
      body_bytes: limits.body_bytes,
      inside: () => this.#endpoints().inside,
      onQuery: (query, args) => this.#endpoints().answerHandler(query, args),
      workers: runtime.workers ?? limits.workers,
      function_timeout_ms: limits.function_timeout_ms,
      worker_memory_mb: limits.worker_memory_mb,
      log: this.#log,
      onReady: watchFiles(this.#spec, this.#log),
      onOutput: (line) => this.#log.info({ line }, "output"),
    });
    return this.#runner;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runner?.[Symbol.asyncDispose]();
  }
}

function servedBy({ manifest, services }: HandlersSpec): ManifestService[] {
  return manifest.services.filter(({ name }) => services.includes(name));
}

/** The file's application object; a file has at most one. */
function applicationOf(spec: HandlersSpec): GraphFunction | null {
  const app = servedBy(spec).find((service) => service.app != null)?.app;
  return app == null ? null : { id: app.id, module: app.module, name: app.name };
}

function handlerModules(spec: HandlersSpec): string[] {
  const app = applicationOf(spec);
  return [...new Set([...(app === null ? [] : [app.module]), ...routeModules(servedBy(spec), true)])];
}
