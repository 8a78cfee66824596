/**
 * A database pod: one hosted database. PostgreSQL is its child process, a unix socket serves the engine's data API
 * (database-api/server.ts), and Python starts when rows need it. A pod driver starts it and writes its spec to standard
 * input (contract/src/pod-spec.ts). It runs until it is stopped. Its child processes end with it, even when it is
 * killed.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type DatabasePodSpec, databasePodSpecSchema } from "@appdb/contract/pod-spec";
import { VERSION } from "@appdb/contract/version";
import { catalogFormat } from "@appdb/engine/catalog/ensure-catalog";
import type { Logger } from "@appdb/engine/ports";
import { SOLE_DATABASE } from "@appdb/postgres/cluster/cluster-template";
import { EmbeddedPostgres } from "@appdb/postgres/cluster/embedded-postgres";
import { postgresSettings } from "@appdb/postgres/cluster/postgres-settings";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { Secret } from "@appdb/system/secret";
import type { DatabasePodDeps } from "../composition/compose-database.ts";
import { listenForStop } from "../daemon/listen-for-stop.ts";
import { runPodWork } from "./pod-work.ts";
import { listenToGateway, listenToPod, runPod } from "./run-pod.ts";

/**
 * Runs until it is stopped by its API, SIGTERM, SIGINT or SIGHUP.
 * @throws pod_failed for an invalid spec; postgres_failed, postgres_unsupported, catalog_too_new
 */
export async function runDatabaseRole(): Promise<number> {
  return await runPod(databasePodSpecSchema, serveDatabase);
}

async function serveDatabase(spec: DatabasePodSpec, log: Logger): Promise<void> {
  mkdirSync(spec.data_folder, { recursive: true });
  const stop = listenForStop("pod", log);
  const migrations = readCatalogMigrations();
  await using postgres = new EmbeddedPostgres({
    bin: spec.postgres_bin,
    folder: join(spec.data_folder, "postgres"),
    runtime_folder: spec.run_folder,
    keeps_runtime_folder: true,
    log_file: join(spec.log_folder, "postgres.log"),
    log,
    template_folder: spec.template_folder,
    settings: postgresSettings(spec.resources),
    kept_free_bytes: spec.disk_floor_bytes,
    dies_with_parent: true,
    format: catalogFormat(migrations),
  });
  // the slowest step: it runs while the rest of the program is loaded
  const starting = postgres.start();
  starting.catch(() => undefined);
  const [{ composeDatabase }, { createDatabaseApi }, { carryMedia }] = await Promise.all([
    import("../composition/compose-database.ts"),
    import("../database-api/server.ts"),
    import("../database-api/media-link.ts"),
  ]);
  await using deps = composeDatabase({
    spec,
    log,
    postgres,
    migrations,
    database: SOLE_DATABASE,
    requestStop: stop.request,
  });
  await using _api = await listenToPod(createDatabaseApi(deps), spec.run_folder);
  log.info({ version: VERSION, uri: spec.uri }, "the pod listens");
  await using _link = await listenToGateway(spec.run_folder, new Secret(spec.link_token), carryMedia(deps), log);
  // the pod cannot work without PostgreSQL: it ends with the reason, and its owner restarts it
  await Promise.race([deps.ready().then(() => setReady(deps)), stop.requested]);
  await using _work = runPodWork(deps);
  const reason = await stop.requested;
  deps.lifecycle.is_stopping = true;
  log.info({ reason }, "the pod stops");
}

function setReady({ lifecycle }: DatabasePodDeps): void {
  lifecycle.is_ready = true;
}
