import { once } from "node:events";
import { VERSION } from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import { collectDefaultMetrics } from "prom-client";
import type { ServerConfig } from "../config/config.ts";
import type { OpenControlDatabase } from "../database/pool.ts";
import { listenAsConfigured } from "../lifecycle/listen.ts";
import { givenMasterKey } from "../secrets/given-master-key.ts";
import { toMasterKey } from "../secrets/master-key.ts";
import { composeGateway } from "./compose-gateway.ts";
import { createOperatorServer } from "./operator-server.ts";

export interface ServeAloneInput {
  readonly config: ServerConfig;
  readonly database: OpenControlDatabase;
  readonly log: Logger;
  readonly stopped: Promise<string>;
}

/** Runs only a gateway, with its health and metrics at the server's port. @throws config_invalid, port_taken */
export async function serveGatewayAlone({ config, database, log, stopped }: ServeAloneInput): Promise<void> {
  const masterKey = toMasterKey(givenMasterKey(config, config.home));
  await using composed = await composeGateway({ config, master_key: masterKey, database, log });
  collectDefaultMetrics({ register: composed.metrics });
  const server = createOperatorServer({ composed, db: database.db, log, token: config.metrics_token });
  const open = async (options: { host: string; port: number }) => {
    server.listen(options);
    await once(server, "listening");
    return server.address();
  };
  const port = await listenAsConfigured(open, config);
  log.info({ url: `http://${config.host}:${port}`, version: VERSION, roles: config.roles }, "the server listens");
  const reason = await stopped;
  log.info({ reason }, "the server is stopping");
  await composed[Symbol.asyncDispose]();
  server.close();
  server.closeAllConnections();
}
