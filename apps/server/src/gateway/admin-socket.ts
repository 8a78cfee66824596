import { once } from "node:events";
import { rmSync } from "node:fs";
import type { Server } from "node:http";
import type { Logger } from "@appdb/engine/ports";
import { openRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { doorFolder, localDoor } from "../edge/admin-socket.ts";
import type { PodServerPaths } from "../pods/database-paths.ts";
import type { ReadForwarded } from "./admission/trusted-proxies.ts";
import type { RoutedDatabase, RoutingTable } from "./routing/routing-table.ts";

/** The socket's client names the caller and the host, and is trusted. */
export const readDoorForwarded: ReadForwarded = ({ headers }, _, host) => ({
  address: String(headers["x-forwarded-for"] ?? ""),
  is_secure: headers["x-forwarded-proto"] === "https",
  host,
});

/** The database whose port is in the host. */
export function findByPort(table: RoutingTable, host: string): RoutedDatabase | undefined {
  const port = Number(/:(\d+)$/.exec(host)?.[1]);
  for (const database of table.all()) if (database.port === port) return database;
  return undefined;
}

/** Opens the socket. A failure is only logged, because services work without it. */
export async function openAdminSocket(
  serverPaths: PodServerPaths,
  server: Server,
  log: Logger,
): Promise<AsyncDisposable> {
  let isOpen = false;
  try {
    openRuntimeFolder(doorFolder(serverPaths));
    const path = localDoor(serverPaths);
    // a socket of a killed gateway
    rmSync(path, { force: true });
    server.listen(path);
    await once(server, "listening");
    isOpen = true;
  } catch (error) {
    log.warn({ err: error }, "the control plane cannot call the gateway");
  }
  return {
    async [Symbol.asyncDispose]() {
      if (!isOpen) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      rmSync(doorFolder(serverPaths), { recursive: true, force: true });
    },
  };
}
