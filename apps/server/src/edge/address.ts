import type { ServerConfig } from "../config/config.ts";

/** Of `control.databases`: where the gateway serves it. */
export interface GatewayAddress {
  readonly gateway_label: string;
  readonly gateway_port: number | null;
}

const HTTPS_PORT = 443;

/**
 * Where a service's routes are, without a slash at the end: `https://<label>.<domain>/<service>`, or without a domain
 * `http://127.0.0.1:<port>/<service>`; null while no gateway has given the database a port. `service` is the name within the database.
 */
export function serviceEndpoint(
  { gateway }: Pick<ServerConfig, "gateway">,
  { gateway_label: gatewayLabel, gateway_port: gatewayPort }: GatewayAddress,
  service: string,
): string | null {
  if (gateway.domain !== undefined) {
    const port = gateway.port === HTTPS_PORT ? "" : `:${gateway.port}`;
    return `https://${gatewayLabel}.${gateway.domain}${port}/${service}`;
  }
  if (gatewayPort === null) return null;
  const host = gateway.host.includes(":") ? `[${gateway.host}]` : gateway.host;
  return `http://${host}:${gatewayPort}/${service}`;
}
