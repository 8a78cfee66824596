import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { appError } from "@appdb/contract/errors";

/** Below the range of outgoing connections, so that a stored port is usually free again later. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;
const PORT_TRIES = 4;

/** Chooses a port for a service. The same name gets the same port again if possible. */
export async function chooseFreePort(name: string, usedPorts: ReadonlySet<number>): Promise<number> {
  const start = createHash("sha256").update(name).digest().readUInt32BE() % PORTS;
  for (let step = 0; step < PORTS; step++) {
    const port = FIRST_PORT + ((start + step) % PORTS);
    if (!usedPorts.has(port) && (await isPortFree(port))) return port;
  }
  throw appError("port_taken", {
    detail: `No port between ${FIRST_PORT} and ${FIRST_PORT + PORTS - 1} is free.`,
    hint: "Choose one with --port.",
  });
}

/**
 * Restarts a service on another port while another program took its port between the check and the start. At most
 * `PORT_TRIES` starts.
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

/** Whether a server could listen on this loopback port. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host: "127.0.0.1", exclusive: true });
    await once(server, "listening");
    return true;
  } catch {
    // in use or not permitted: another one is chosen
    return false;
  } finally {
    server.close();
  }
}
