import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { appError } from "@appdb/contract/errors";

/** Below the ports that systems give to outgoing connections, so that a kept port is free when it is needed again. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;
const PORT_TRIES = 4;

/** Chooses a port for a service: the same name gets the same one again when it can. */
export async function chooseFreePort(name: string, taken: ReadonlySet<number>): Promise<number> {
  const start = createHash("sha256").update(name).digest().readUInt32BE() % PORTS;
  for (let step = 0; step < PORTS; step++) {
    const port = FIRST_PORT + ((start + step) % PORTS);
    if (!taken.has(port) && (await isPortFree(port))) return port;
  }
  throw appError("port_taken", {
    detail: `No port between ${FIRST_PORT} and ${FIRST_PORT + PORTS - 1} is free.`,
    hint: "Choose one with --port.",
  });
}

/**
 * Starts a service again, on another port each time, while it failed on one that somebody else took between our look at it
 * and the service's start; at most `PORT_TRIES` starts in all.
 */
export async function retryLostPort<Started extends { readonly state: string; readonly port: number }>(
  first: Started,
  startElsewhere: () => Promise<Started>,
): Promise<Started> {
  let started = first;
  for (let tries = 1; tries < PORT_TRIES; tries += 1) {
    if (started.state !== "FAILED" || (await isPortFree(started.port))) break;
    started = await startElsewhere();
  }
  return started;
}

/** Looks whether a server could listen on the port on loopback. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host: "127.0.0.1", exclusive: true });
    await once(server, "listening");
    return true;
  } catch {
    // taken, or not ours to take: either way another one is chosen
    return false;
  } finally {
    server.close();
  }
}
