import { once } from "node:events";
import { rmSync } from "node:fs";
import type { Server } from "node:http";
import type { Logger } from "@appdb/engine/ports";
import { openRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { doorFolder, localDoor } from "../edge/admin-socket.ts";
import type { PodServerPaths } from "../pods/database-paths.ts";
import type { ReadForwarded } from "./admission/trusted-proxies.ts";
import type { RoutedDatabase, RoutingTable } from "./routing/routing-table.ts";

/** Whoever can open the socket says who asked, and what for. */
export const readDoorForwarded: ReadForwarded = ({ headers }, _, host) => ({
  address: String(headers["x-forwarded-for"] ?? ""),
  is_secure: headers["x-forwarded-proto"] === "https",
  host,
});

/** The database whose port a host names. */
export function findByPort(table: RoutingTable, host: string): RoutedDatabase | undefined {
  const port = Number(/:(\d+)$/.exec(host)?.[1]);
  for (const database of table.all()) if (database.port === port) return database;
  return undefined;
}

/** Opens the door. Without it services are served all the same: a socket that cannot be made is told to the log. */
export async function openAdminSocket(place: PodServerPaths, server: Server, log: Logger): Promise<AsyncDisposable> {
  let isOpen = false;
  try {
    openRuntimeFolder(doorFolder(place));
    const path = localDoor(place);
    // one that a gateway left that was killed
    rmSync(path, { force: true });
    server.listen(path);
    await once(server, "listening");
    isOpen = true;
  } catch (error) {
    log.warn({ err: error }, "the gateway cannot be asked by the control plane");
  }
  return {
    async [Symbol.asyncDispose]() {
      if (!isOpen) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      rmSync(doorFolder(place), { recursive: true, force: true });
    },
  };
}
