import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** How long a stop waits for requests that are under way. */
const DRAIN_MS = 20_000;

/**
 * Lets a stop end: connections that were opened ahead and never sent anything (browsers do so) are closed at once, which
 * Node does not count as idle, and requests have their time.
 */
export function addDrain(app: FastifyInstance): void {
  const sockets = new Set<Socket>();
  app.server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  app.addHook("preClose", async () => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    setTimeout(() => app.server.closeAllConnections(), DRAIN_MS).unref();
  });
}
