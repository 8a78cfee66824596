import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** Maximum wait for running requests when the server stops. */
const DRAIN_MS = 20_000;

/**
 * Closes unused connections when the server stops. Browsers open them ahead, and Node does not count them as idle.
 * Running requests get time to finish.
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
