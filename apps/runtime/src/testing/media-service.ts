import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manifestSchema } from "@appdb/contract/manifest";
import { localMediaPlace } from "@appdb/contract/media-place";
import type { Runtime } from "@appdb/contract/runtime";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { ensureCatalog } from "@appdb/engine/catalog/ensure-catalog";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import type { Logger } from "@appdb/engine/ports";
import { applySchema } from "@appdb/engine/schema/apply-schema";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { readManifest } from "@appdb/python-runtime/workers/read-manifest";
import type { FastifyInstance, onRequestHookHandler } from "fastify";
import { serveEndpoints } from "../http/serve-endpoints.ts";
import { type WorkingSpec, withService } from "../roles/with-service.ts";
import { DRAW_PICTURES, MEDIA_APP } from "./media-application.ts";

export type Json = Record<string, unknown>;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Json;
}

/** An application with media columns, served over HTTP, and a web server with the files of its folder. */
export interface MediaService extends AsyncDisposable {
  readonly base: string;
  /** Has whole.png, other.jpg, turned.jpg, cut.jpg, page.png, empty.png, a.md, and `kept`, a destination. */
  readonly folder: string;
  readonly mediaFolder: string;
  readonly webPort: number;
  query(text: string): Promise<readonly (readonly (string | null)[])[]>;
  /** Names of the objects in the database's own store. */
  objects(): readonly string[];
  /** Files on their way. */
  leftovers(): readonly string[];
  /** A form with files of the folder, and fields. */
  formOf(files: Record<string, string>, fields?: Record<string, string>): FormData;
  /** Stops the service and starts it again on the same database. */
  restart(limits?: Limits): Promise<void>;
  /** Posts a form or JSON. */
  send(path: string, body: FormData | Json, headers?: Record<string, string>): Promise<Answer>;
}

type Limits = Partial<WorkingSpec["limits"]>;

/** Requests with this header come from a key that may call services only. */
export const LIMITED_KEY = { "x-test-key": "limited" };

/** What a test gives to the service. */
interface MediaKit {
  readonly database: { readonly dsn: string; drop(): Promise<void> };
  readonly runtimeIn: (folder: string) => Runtime;
  readonly log: Logger;
}

/** Serves an application's service `photos`. In its text, `KEPT` stands for the folder of a destination. */
export async function startMediaService(
  { database, runtimeIn, log }: MediaKit,
  app = MEDIA_APP,
  limits: Limits = {},
): Promise<MediaService> {
  const folder = mkdtempSync(join(tmpdir(), "appdb-media-"));
  const mediaFolder = join(folder, "media");
  const runtime = runtimeIn(folder);
  writeFiles(folder, app, runtime.python);
  const { dsn } = database;
  const manifest = manifestSchema.parse(await readManifest({ runtime, app_file: "app.py" }));
  await using sql = createPgPool({ dsn, max: 1, application_name: "media test" });
  await ensureCatalog(sql, readCatalogMigrations());
  const { version } = await loadCatalog(sql);
  await applySchema(
    { sql, clock: { now: Date.now }, log },
    { manifest, target: "main", catalog_version: version, allow_destructive: false, runtime_id: "r1" },
  );
  const web = await serveFiles(folder);
  const spec = {
    dsn,
    target: "main",
    manifest,
    services: ["photos"],
    media: localMediaPlace(mediaFolder, {}),
    runtime,
  };
  const open = (own: Limits) => serve({ ...spec, limits: { ...DEFAULT_LIMITS, upload_bytes: 1_000_000, ...own } }, log);
  let running = await open(limits);
  return {
    get base() {
      return running.base;
    },
    async restart(own = {}) {
      await running.stop();
      running = await open(own);
    },
    folder,
    mediaFolder,
    webPort: (web.address() as AddressInfo).port,
    async query(text) {
      await using reading = createPgPool({ dsn, max: 1, application_name: "media test" });
      return (await reading.query({ text })).rows;
    },
    objects: () => filesIn(join(mediaFolder, "home")),
    leftovers: () => ["uploads", "scratch"].flatMap((name) => filesIn(join(mediaFolder, name))),
    formOf(files, fields = {}) {
      const form = new FormData();
      for (const [name, text] of Object.entries(fields)) form.append(name, text);
      for (const [name, file] of Object.entries(files)) {
        form.append(name, new Blob([readFileSync(join(folder, file))], { type: "application/x-lie" }), file);
      }
      return form;
    },
    async send(path, body, headers = {}) {
      const answer = await fetch(running.base + path, {
        method: "POST",
        headers: body instanceof FormData ? headers : { "content-type": "application/json", ...headers },
        body: body instanceof FormData ? body : JSON.stringify(body),
      });
      return { status: answer.status, headers: answer.headers, json: (await answer.json()) as Json };
    },
    async [Symbol.asyncDispose]() {
      await running.stop();
      await database.drop();
      web.closeAllConnections();
      await new Promise((resolve) => web.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Serves until `stop`. */
async function serve(spec: WorkingSpec, log: Logger): Promise<{ readonly base: string; stop(): Promise<void> }> {
  let end = (): void => undefined;
  const serving = new Promise<void>((resolve) => {
    end = resolve;
  });
  let ended: Promise<void> = Promise.resolve();
  const base = await new Promise<string>((resolve, reject) => {
    ended = withService(spec, log, async ({ endpoints }) => {
      const prepare = (app: FastifyInstance) => void app.addHook("onRequest", setCaller);
      const options = { host: "127.0.0.1", port: 0, log, body_bytes: 1_000_000, prepare };
      await using server = await serveEndpoints(endpoints, options);
      resolve(`http://127.0.0.1:${server.port}`);
      await serving;
    });
    ended.catch(reject);
  });
  return {
    base,
    async stop() {
      end();
      await ended;
    },
  };
}

/** As the pod of a hosted service knows its callers. Others own the database. */
const setCaller: onRequestHookHandler = (request, _reply, done) => {
  if (request.headers["x-test-key"] === "limited") request.caller = { id: "k1", reads_media: false };
  done();
};

function writeFiles(folder: string, app: string, python: string): void {
  const kept = join(folder, "kept");
  mkdirSync(kept);
  writeFileSync(join(folder, "app.py"), app.replace("KEPT", kept));
  execFileSync(python, ["-c", DRAW_PICTURES, folder]);
  writeFileSync(join(folder, "page.png"), "<!doctype html><script>alert(1)</script>");
  writeFileSync(join(folder, "empty.png"), "");
  writeFileSync(join(folder, "a.md"), "# Title\n\ntext");
}

async function serveFiles(folder: string): Promise<Server> {
  const web = createServer((request, response) => {
    const name = (request.url ?? "").slice(1);
    if (!existsSync(join(folder, name))) response.writeHead(404).end();
    else response.end(readFileSync(join(folder, name)));
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  return web;
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : []));
}
