import type { AddressInfo } from "node:net";
import { appError } from "@appdb/contract/errors";
import type { ServerConfig } from "../config/config.ts";
import { readStoredPort, storePort } from "../config/server-home.ts";

/**
 * Listens on the configured port, otherwise on the home's last one or a free one. Returns the port. `open` rejects with
 * Node's error.
 * @throws port_taken
 */
export async function listenAsConfigured(
  open: (options: { readonly host: string; readonly port: number }) => Promise<string | AddressInfo | null>,
  config: ServerConfig,
): Promise<number> {
  const { home } = config;
  // the home's port belongs to its control plane
  const isKept = config.port === 0 && config.roles.includes("control-plane");
  const before = isKept ? readStoredPort(home) : 0;
  const ports = config.port === 0 ? [before, 0] : [config.port];
  for (const port of ports) {
    try {
      const address = await open({ host: config.host, port });
      if (address === null || typeof address === "string") throw new Error("The server has no TCP port.");
      if (isKept && address.port !== before) storePort(home, address.port);
      return address.port;
    } catch (cause) {
      const isTaken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
      if (!isTaken) throw cause;
    }
  }
  throw appError("port_taken", {
    detail: `Port ${config.port} on ${config.host} is in use by another program.`,
    hint: "Set SERVICE_PORT to another one, or to 0 to have one chosen.",
    meta: { host: config.host, port: config.port },
  });
}
