import { once } from "node:events";
import { rmSync } from "node:fs";
import type { Server } from "node:http";
import { join } from "node:path";
import { openRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { doorFolder } from "../edge/admin-socket.ts";
import type { PodServerPaths } from "../pods/database-paths.ts";

/** Prefix of lock files of gateways started by a server, in the home's lock folder. */
export const GATEWAY_LOCK = "gateway.";

/** The socket by which a server asks the gateway that it started. Only its user can open it. */
export function controlSocket(serverPaths: PodServerPaths): string {
  return join(doorFolder(serverPaths), "control.sock");
}

/** Makes the server listen on the socket. @throws postgres_failed when another user owns the folder */
export async function openControlSocket(serverPaths: PodServerPaths, server: Server): Promise<AsyncDisposable> {
  openRuntimeFolder(doorFolder(serverPaths));
  const path = controlSocket(serverPaths);
  // a socket of a killed gateway
  rmSync(path, { force: true });
  server.listen(path);
  await once(server, "listening");
  const close = async () => {
    rmSync(path, { force: true });
    const closed = once(server, "close");
    server.close();
    // flush pending responses before the connections close
    setImmediate(() => server.closeAllConnections());
    await closed;
  };
  let closing: Promise<void> | undefined;
  return { [Symbol.asyncDispose]: () => (closing ??= close()) };
}
