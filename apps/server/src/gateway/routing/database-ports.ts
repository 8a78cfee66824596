import { once } from "node:events";
import type { Server } from "node:http";
import type { Logger } from "@appdb/engine/ports";
import type { ControlDatabase } from "../../database/pool.ts";
import type { RoutedDatabase, RoutingTable } from "./routing-table.ts";

const TRIES = 5;

export interface DatabasePortsDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly table: RoutingTable;
  readonly host: string;
  /** Creates a server for the requests of one database, without listening. */
  createServer(databaseId: string): Server;
}

/** The servers of databases without a domain, each at its own port. */
export interface DatabasePorts {
  /** Opens and closes servers to match the routing table. Resolves when done. */
  follow(): Promise<void>;
  /** Refuses new requests. Resolves when the running ones have ended, or after `maxMs`. */
  stop(maxMs: number): Promise<void>;
}

/** A database keeps its first port. If another program uses the port, the database gets a new one. */
export function createDatabasePorts(deps: DatabasePortsDeps): DatabasePorts {
  const { table, log } = deps;
  const servers = new Map<string, Server>();
  let last: Promise<void> = Promise.resolve();
  let isStopped = false;
  const look = async () => {
    for (const [id, server] of servers) {
      if (table.byId(id) !== undefined) continue;
      servers.delete(id);
      server.close();
      server.closeAllConnections();
    }
    for (const database of [...table.all()]) {
      if (isStopped || servers.has(database.id)) continue;
      try {
        const server = await openPort(deps, database);
        if (server !== undefined) servers.set(database.id, server);
      } catch (error) {
        log.warn({ err: error, db: database.id }, "a database is not served: it has no port");
      }
    }
  };
  return {
    follow: () => (last = last.then(look)),
    stop: async (maxMs) => {
      isStopped = true;
      await last;
      await Promise.all([...servers.values()].map((server) => endServer(server, maxMs)));
    },
  };
}

async function endServer(server: Server, maxMs: number): Promise<void> {
  const ended = new Promise<void>((resolve) => void server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), maxMs);
  await ended;
  clearTimeout(timer);
}

async function openPort(deps: DatabasePortsDeps, { id, port }: RoutedDatabase): Promise<Server | undefined> {
  if (port !== null) {
    const listener = await listen(deps, id, port);
    if (listener !== undefined) return listener;
    deps.log.warn({ db: id, port }, "a database gets another port: its own is in use by another program");
  }
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const server = await listen(deps, id, 0);
    const address = server?.address();
    if (server === undefined || address === null || typeof address !== "object") continue;
    if (await writePort(deps.db, id, port, address.port)) return server;
    server.close();
  }
  return undefined;
}

/** False if another database has the port, or another gateway was faster. */
async function writePort(db: ControlDatabase, id: string, before: number | null, port: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("control.databases")
    .set({ gateway_port: port })
    .where("id", "=", id)
    .where("gateway_port", "is not distinct from", before)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("control.databases as other").select("other.id").where("other.gateway_port", "=", port))),
    )
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Undefined if the port is in use. */
async function listen(deps: DatabasePortsDeps, id: string, port: number): Promise<Server | undefined> {
  const server = deps.createServer(id);
  try {
    server.listen({ host: deps.host, port });
    await once(server, "listening");
    return server;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EADDRINUSE" || code === "EACCES") return undefined;
    throw error;
  }
}
