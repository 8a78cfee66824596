import { once } from "node:events";
import { rmSync } from "node:fs";
import type { Server } from "node:http";
import { join } from "node:path";
import { nameRuntimeFolder, openRuntimeFolder } from "@appdb/adapters/postgres/runtime-folder";
import type { Logger } from "@appdb/engine/ports";
import type { ServerPlace } from "../pods/database-places.ts";
import type { RoutedDatabase, RoutingTable } from "./routing-table.ts";
import type { ReadForwarded } from "./trusted-proxies.ts";

/**
 * Where the gateway of a home is asked by the control plane of that home: a socket that only its user can open, in whatever process the
 * gateway runs, with a domain or without. What comes in by it is treated as all else is. @throws postgres_failed
 */
export function localDoor({ home, runtime_base }: ServerPlace): string {
  return join(doorFolder({ home, runtime_base }), "gateway.sock");
}

/** Where the sockets of a home's gateway lie. @throws postgres_failed */
export function doorFolder({ home, runtime_base }: ServerPlace): string {
  return nameRuntimeFolder(join(home, "server", "gateway"), runtime_base);
}

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
export async function openLocalDoor(place: ServerPlace, server: Server, log: Logger): Promise<AsyncDisposable> {
  let is_open = false;
  try {
    openRuntimeFolder(doorFolder(place));
    const path = localDoor(place);
    // one that a gateway left that was killed
    rmSync(path, { force: true });
    server.listen(path);
    await once(server, "listening");
    is_open = true;
  } catch (error) {
    log.warn({ err: error }, "the gateway cannot be asked by the control plane");
  }
  return {
    async [Symbol.asyncDispose]() {
      if (!is_open) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      rmSync(doorFolder(place), { recursive: true, force: true });
    },
  };
}
