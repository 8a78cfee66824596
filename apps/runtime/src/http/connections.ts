import { setMaxListeners } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { HttpOfLink } from "@appdb/pods/link/as-http";

/** Open connections of a server. */
export class Connections {
  readonly #draining = new AbortController();
  readonly #open = new Map<Socket, AbortController | undefined>();

  /** Aborts when the server stops accepting requests. */
  readonly draining = this.#draining.signal;

  constructor(server: Server) {
    setMaxListeners(0, this.draining);
    server.on("connection", (connection: Socket) => {
      this.#open.set(connection, undefined);
      connection.once("close", () => {
        this.#open.get(connection)?.abort();
        this.#open.delete(connection);
      });
    });
  }

  /**
   * Signal that aborts when the connection of a request closes. All its requests share it, because a signal for each
   * would cost as much as the request.
   */
  signalOf(request: IncomingMessage): AbortSignal {
    if (request instanceof HttpOfLink) return request.signal;
    const { socket: connection } = request;
    const known = this.#open.get(connection);
    if (known !== undefined) return known.signal;
    if (!this.#open.has(connection)) return AbortSignal.abort();
    const controller = new AbortController();
    // Each row of a request in Python adds a listener.
    setMaxListeners(0, controller.signal);
    this.#open.set(connection, controller);
    return controller.signal;
  }

  /** Ends answers that would never end. */
  beginDrain(): void {
    this.#draining.abort();
  }

  /** Closes connections that were opened but never sent a request, which Node counts as busy. */
  closeUnused(): void {
    for (const connection of this.#open.keys()) if (connection.bytesRead === 0) connection.destroy();
  }
}
