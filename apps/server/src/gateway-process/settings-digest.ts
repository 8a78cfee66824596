import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { revealAll, type Secret } from "@appdb/system/secret";
import type { ServerConfig } from "../config/config.ts";

export interface DigestedGateway {
  readonly config: ServerConfig;
  readonly dsn: string;
  readonly master_key: Secret;
  /** The program's file. */
  readonly program: string;
}

/** Distinguishes gateways with different behaviour: by settings, program and Node version. */
export function digestGateway({ config, dsn, master_key: masterKey, program }: DigestedGateway): string {
  const { gateway, home, log_level: logLevel, runtime_base: runtimeBase, trusted_proxies: trustedProxies } = config;
  const eab = gateway.acme?.eab?.key.reveal() ?? null;
  const { media } = config;
  const secrets = [dsn, masterKey.reveal(), eab, revealAll(config.traces), revealAll(media?.environment ?? {})];
  const content = [
    ...secrets,
    {
      gateway,
      bucket: media?.bucket ?? null,
      home,
      log_level: logLevel,
      runtime_base: runtimeBase,
      trusted_proxies: trustedProxies,
    },
  ];
  return createHash("sha256")
    .update(JSON.stringify([process.version, content]))
    .update(readFileSync(program))
    .digest("base64url");
}
