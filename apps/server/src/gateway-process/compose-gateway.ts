import { join } from "node:path";
import { VERSION } from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import { createLocalAccess } from "@appdb/pods/driver/local-access";
import { revealAll } from "@appdb/system/secret";
import { openTracer } from "@appdb/system/traces/open-tracer";
import { Gauge, Registry } from "prom-client";
import { addDeliveries } from "../audit/add-deliveries.ts";
import { createRecordEvent } from "../audit/record-event.ts";
import { SERVER_PATHS, type ServerConfig } from "../config/config.ts";
import { createNotifications } from "../database/notifications.ts";
import type { OpenControlDatabase } from "../database/pool.ts";
import { createKeySnapshots } from "../edge/key-snapshots.ts";
import { type Gateway, startGateway } from "../gateway/gateway.ts";
import { createLocateVolume } from "../pods/locate-volume.ts";
import { createEnvelope } from "../secrets/envelope.ts";
import type { MasterKey } from "../secrets/master-key.ts";
import { openMediaBucket } from "../storage/media-bucket.ts";

export interface ComposeGatewayInput {
  readonly config: ServerConfig;
  readonly master_key: MasterKey;
  readonly database: OpenControlDatabase;
  readonly log: Logger;
}

export interface ComposedGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  /** The gateway's metrics. Their names must differ from the control plane's. */
  readonly metrics: Registry;
}

/**
 * Builds and starts a gateway in this process. It talks to a control plane only through PostgreSQL, and starts without
 * PostgreSQL from state saved in the home. The gateway's program consists of this file's imports.
 * @throws port_taken, config_invalid
 */
export async function composeGateway(input: ComposeGatewayInput): Promise<ComposedGateway> {
  const { config, database, log, master_key: masterKey } = input;
  const { db, pool } = database;
  const notifications = createNotifications(pool.options, log);
  const metrics = new Registry();
  addProcessMetrics(metrics);
  const tracer = await openTracer(
    revealAll(config.traces),
    { name: "gateway", version: VERSION, role: "gateway" },
    log,
  );
  const end = async () => {
    await notifications[Symbol.asyncDispose]();
    await tracer?.[Symbol.asyncDispose]();
  };
  try {
    const gateway = await startGateway({
      log,
      db,
      notifications,
      metrics,
      master_key: masterKey,
      tracer,
      config: config.gateway,
      paths: config,
      pod_access: createLocalAccess(createLocateVolume(config)),
      trusted_proxies: config.trusted_proxies,
      snapshots: createKeySnapshots({ db, log, notifications, master_key: masterKey }),
      recordEvent: createRecordEvent(addDeliveries),
      envelope: createEnvelope(masterKey),
      bucket: config.media && openMediaBucket(config.media),
      state_file: join(config.home, SERVER_PATHS.gateway),
    });
    const stop = async () => {
      await gateway[Symbol.asyncDispose]();
      await end();
    };
    let stopped: Promise<void> | undefined;
    return { gateway, metrics, [Symbol.asyncDispose]: () => (stopped ??= stop()) };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Adds CPU and memory of the process. Names differ from the server's, which are shown on the same page. */
export function addProcessMetrics(registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: "appdb_gateway_process_cpu_seconds",
    help: "CPU time of the gateway's process.",
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.set((user + system) / 1_000_000);
    },
  });
  new Gauge({
    name: "appdb_gateway_process_resident_bytes",
    help: "Memory used by the gateway's process.",
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
}
