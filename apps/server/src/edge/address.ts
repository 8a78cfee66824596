import type { ServerConfig } from "../config/config.ts";

/** The gateway's columns of `control.databases`. */
export interface GatewayAddress {
  readonly gateway_label: string;
  readonly gateway_port: number | null;
}

const HTTPS_PORT = 443;

/**
 * The base address of a service's routes: `https://<label>.<domain>/<service>`, or without a domain
 * `http://127.0.0.1:<port>/<service>`. Null until the database has a port. `service` is the name within the database.
 */
export function serviceEndpoint(
  config: Pick<ServerConfig, "gateway">,
  address: GatewayAddress,
  service: string,
): string | null {
  const origin = databaseOrigin(config, address);
  return origin === null ? null : `${origin}/${service}`;
}

/** The address of a database: `https://<label>.<domain>`, or without a domain `http://127.0.0.1:<port>`. */
export function databaseOrigin(
  { gateway }: Pick<ServerConfig, "gateway">,
  { gateway_label: gatewayLabel, gateway_port: gatewayPort }: GatewayAddress,
): string | null {
  if (gateway.domain !== undefined) {
    const port = gateway.port === HTTPS_PORT ? "" : `:${gateway.port}`;
    return `https://${gatewayLabel}.${gateway.domain}${port}`;
  }
  if (gatewayPort === null) return null;
  const host = gateway.host.includes(":") ? `[${gateway.host}]` : gateway.host;
  return `http://${host}:${gatewayPort}`;
}

/**
 * All addresses of services, as a content security policy names them: `https://*.<domain>` or `http://127.0.0.1:*`.
 * Undefined for an IPv6 address, which policies cannot name.
 */
export function gatewaySource({ gateway }: Pick<ServerConfig, "gateway">): string | undefined {
  if (gateway.domain !== undefined) {
    return `https://*.${gateway.domain}${gateway.port === HTTPS_PORT ? "" : `:${gateway.port}`}`;
  }
  return gateway.host.includes(":") ? undefined : `http://${gateway.host}:*`;
}
