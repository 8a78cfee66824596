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

export interface ComposeGatewayInput {
  readonly config: ServerConfig;
  readonly master_key: MasterKey;
  readonly database: OpenControlDatabase;
  readonly log: Logger;
}

export interface ComposedGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  /** Of the gateway alone: no name of it is one of the control plane's. */
  readonly metrics: Registry;
}

/**
 * Builds and starts a gateway in this process, with nothing of a control plane: what it asks of one goes by PostgreSQL, and it starts
 * without that too, by what it kept in the home. Imports of this file are what the gateway's program consists of.
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
      place: config,
      pod_access: createLocalAccess(createLocateVolume(config)),
      trusted_proxies: config.trusted_proxies,
      snapshots: createKeySnapshots({ db, log, notifications, master_key: masterKey }),
      recordEvent: createRecordEvent(addDeliveries),
      envelope: createEnvelope(masterKey),
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

/** What the process takes, under names that are not those of the server, whose metrics these are shown with. */
export function addProcessMetrics(registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: "appdb_gateway_process_cpu_seconds",
    help: "Processor time that the gateway's process has taken.",
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.set((user + system) / 1_000_000);
    },
  });
  new Gauge({
    name: "appdb_gateway_process_resident_bytes",
    help: "Memory that the gateway's process has in use.",
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
}
