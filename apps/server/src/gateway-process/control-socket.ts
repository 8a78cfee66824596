import { once } from "node:events";
import { rmSync } from "node:fs";
import type { Server } from "node:http";
import { join } from "node:path";
import { openRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { doorFolder } from "../edge/admin-socket.ts";
import type { PodServerPaths } from "../pods/database-paths.ts";

/** Files of the lock that a gateway which a server has started takes, in the home's folder of locks, begin so. */
export const GATEWAY_LOCK = "gateway.";

/** Where a server asks the gateway that it has started: a socket that only its user can open, beside the gateway's door. */
export function controlSocket(place: PodServerPaths): string {
  return join(doorFolder(place), "control.sock");
}

/** Has the server listen there. @throws postgres_failed when the folder is somebody else's */
export async function openControlSocket(place: PodServerPaths, server: Server): Promise<AsyncDisposable> {
  openRuntimeFolder(doorFolder(place));
  const path = controlSocket(place);
  // one that a gateway left that was killed
  rmSync(path, { force: true });
  server.listen(path);
  await once(server, "listening");
  const close = async () => {
    rmSync(path, { force: true });
    const closed = once(server, "close");
    server.close();
    // what was written goes out before the connections do
    setImmediate(() => server.closeAllConnections());
    await closed;
  };
  let closing: Promise<void> | undefined;
  return { [Symbol.asyncDispose]: () => (closing ??= close()) };
}
