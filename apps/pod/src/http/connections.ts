import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The open connections of a server. */
export class Connections {
  readonly #open = new Map<Socket, AbortController | undefined>();

  constructor(server: Server) {
    server.on("connection", (connection: Socket) => {
      this.#open.set(connection, undefined);
      connection.once("close", () => {
        this.#open.get(connection)?.abort();
        this.#open.delete(connection);
      });
    });
  }

  /** Aborts when the connection closes. One for all its requests: a signal for each would cost as much as the request. */
  signalOf(connection: Socket): AbortSignal {
    const controller = this.#open.get(connection) ?? new AbortController();
    if (!this.#open.has(connection)) return AbortSignal.abort();
    this.#open.set(connection, controller);
    return controller.signal;
  }

  /** Closes what was opened ahead of a request that never came; Node counts it as busy. */
  closeUnused(): void {
    for (const connection of this.#open.keys()) if (connection.bytesRead === 0) connection.destroy();
  }
}
