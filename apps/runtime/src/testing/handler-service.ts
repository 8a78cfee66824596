import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Manifest, type ManifestService, manifestSchema } from "@appdb/contract/manifest";
import type { RequestCaller } from "@appdb/contract/worker-protocol";
import { compileApplication, type InnerRoutes, openInnerRoutes } from "@appdb/engine/endpoints/app-routes";
import { describeService } from "@appdb/engine/endpoints/openapi";
import { handlerKind } from "@appdb/engine/route-kinds/handler";
import type { CompiledRoute } from "@appdb/engine/routes/route";
import { createHandlerWorkers } from "@appdb/python-runtime/handlers/handler-workers";
import { readManifest } from "@appdb/python-runtime/workers/read-manifest";
import { serveEndpoints } from "../http/serve-endpoints.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..", "..", "..");
const HEAD = `
import appdb as db
from appdb.serving import HTTPError, Request, Response, Router

Base = db.model_base()

class Items(Base, name="items"):
    id: db.Int
`;

export interface HandlerService extends AsyncDisposable {
  readonly url: string;
  readonly manifest: Manifest;
  /** Output of the handlers, line by line. */
  readonly printed: readonly string[];
  readonly logged: readonly LoggedLine[];
}

interface LoggedLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface HandlerServiceOptions {
  readonly workers?: number;
  readonly function_timeout_ms?: number;
  readonly body_bytes?: number;
  /** Answers Python's calls to routes. */
  readonly inside?: InnerRoutes;
  /** The key of every request. */
  readonly caller?: RequestCaller;
}

/** Serves the handlers of an application with real Python over real HTTP, without tables. */
export async function serveHandlers(source: string, options: HandlerServiceOptions = {}): Promise<HandlerService> {
  const folder = mkdtempSync(join(tmpdir(), "appdb-handlers-"));
  try {
    writeFileSync(join(folder, "app.py"), HEAD + source);
    return await serveFolder(folder, options);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Serves the application of a folder, which is removed with the service. */
async function serveFolder(folder: string, options: HandlerServiceOptions): Promise<HandlerService> {
  const tools = join(CHECKOUT, ".tools", "lib");
  const runtime = {
    python: join(CHECKOUT, ".tools", "bin", "python"),
    python_source: "test",
    project_root: folder,
    library_paths: [join(CHECKOUT, "python"), ...readdirSync(tools).map((name) => join(tools, name, "site-packages"))],
    env: { PATH: "/usr/bin:/bin", PYTHONDONTWRITEBYTECODE: "1" },
  };
  const manifest = manifestSchema.parse(await readManifest({ runtime, app_file: "app.py" }));
  const printed: string[] = [];
  const logged: LoggedLine[] = [];
  const at = (level: LoggedLine["level"]) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    void logged.push({ level, message, fields });
  const log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const app = manifest.services.find((service) => service.app != null)?.app ?? null;
  const runner = createHandlerWorkers({
    runtime,
    modules: ["app"],
    app: app === null ? null : { id: app.id, module: app.module, name: app.name },
    body_bytes: options.body_bytes ?? 1_000_000,
    inside: () => options.inside ?? openInnerRoutes([], () => undefined, log),
    workers: options.workers ?? 1,
    function_timeout_ms: options.function_timeout_ms ?? 20_000,
    worker_memory_mb: 300,
    log,
    onOutput: (line) => printed.push(line),
  });
  const context = { deps: { log }, handlers: () => runner };
  const compile = (service: ManifestService): CompiledRoute[] => {
    if (service.app != null) return [compileApplication(context, service)];
    const handlers = service.routes.flatMap((route) => (route.kind === "handler" ? [route] : []));
    return handlers.map((route) => ({ ...handlerKind.compile(context, service, route), cors: service.cors ?? null }));
  };
  const served = await serveEndpoints(
    {
      services: manifest.services.map(({ name }) => name),
      routes: manifest.services.flatMap(compile),
      uses_python: false,
      openapi: (name) =>
        describeService(manifest, manifest.services.find((service) => service.name === name) ?? never(name)),
      answerQuery: async () => "[]",
      collect: async () => 0,
      checkHealth: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    },
    {
      host: "127.0.0.1",
      port: 0,
      log,
      body_bytes: options.body_bytes ?? 1_000_000,
      prepare(server) {
        server.addHook("onRequest", async (request) => {
          request.caller = options.caller;
        });
      },
    },
  );
  return {
    url: `http://${served.address}:${served.port}`,
    manifest,
    printed,
    logged,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await runner[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function never(name: string): never {
  throw new Error(`there is no service ${name}`);
}
