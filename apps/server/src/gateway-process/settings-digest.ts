import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { revealAll, type Secret } from "@appdb/adapters/secret";
import type { ServerConfig } from "../config/config.ts";

export interface DigestedGateway {
  readonly config: ServerConfig;
  readonly dsn: string;
  readonly master_key: Secret;
  /** The file that is run. */
  readonly program: string;
}

/** Tells gateways apart that would not do the same: by their settings, the program and the Node that runs it. */
export function digestGateway({ config, dsn, master_key, program }: DigestedGateway): string {
  const { gateway, home, log_level, runtime_base, trusted_proxies } = config;
  const eab = gateway.acme?.eab?.key.reveal() ?? null;
  const secrets = [dsn, master_key.reveal(), eab, revealAll(config.traces)];
  const said = [...secrets, { gateway, home, log_level, runtime_base, trusted_proxies }];
  return createHash("sha256")
    .update(JSON.stringify([process.version, said]))
    .update(readFileSync(program))
    .digest("base64url");
}
