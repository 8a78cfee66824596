import { createHash, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { join } from "node:path";
import type { Logger } from "@appdb/engine/ports";
import { StoreBounds } from "@appdb/media/stores/store-bounds";
import { createStoreServer } from "@appdb/media/stores/store-server";
import { openSharedRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import type { HealthProblem } from "../../health/problems.ts";
import { databasePaths, OBJECTS_SOCKET, type PodServerPaths } from "../../pods/database-paths.ts";
import { MEDIA_INSTANCE, objectsToken } from "../../pods/service-token.ts";
import type { MediaBucket } from "../../storage/media-bucket.ts";
import type { FindPodToken } from "../routing/pod-tokens.ts";
import type { RoutedDatabase, RoutingTable } from "../routing/routing-table.ts";
import { type BucketWatch, watchBucket } from "./watch-bucket.ts";

const DAY_MS = 86_400_000;

export interface ObjectSocketsDeps {
  readonly bucket: MediaBucket;
  readonly paths: PodServerPaths;
  readonly table: RoutingTable;
  readonly log: Logger;
  findToken: FindPodToken;
}

/** The sockets by which pods reach their objects in the operator's bucket: one for each database. */
export interface ObjectSockets {
  /** Opens and closes sockets to match the routing table. Resolves when done. */
  follow(): Promise<void>;
  problems(): HealthProblem[];
  stop(): Promise<void>;
}

/**
 * Pods have no credentials of the bucket: this process has them. A socket leads to the objects of its database alone, and
 * only pods of the database see it. Its token is a second proof where pods are not isolated.
 */
export function openObjectSockets(deps: ObjectSocketsDeps): ObjectSockets {
  const { bucket, log, paths, table } = deps;
  const servers = new Map<string, Server>();
  const bounds = new StoreBounds();
  const watch = watchBucket(bucket, log);
  const pathOf = (id: string) => join(databasePaths(paths, id).objects_folder, OBJECTS_SOCKET);
  const close = (id: string, server: Server) => {
    servers.delete(id);
    server.close();
    server.closeAllConnections();
    // the folder stays: pods see it
    rmSync(pathOf(id), { force: true });
  };
  const open = async (database: RoutedDatabase) => {
    const { id } = database;
    try {
      openSharedRuntimeFolder(databasePaths(paths, id).objects_folder);
      // a socket of a killed gateway
      rmSync(pathOf(id), { force: true });
      const server = createServer(deps, database, bounds, watch);
      server.listen(pathOf(id));
      await once(server, "listening");
      // users of pods; the token is checked
      chmodSync(pathOf(id), 0o666);
      servers.set(id, server);
    } catch (error) {
      log.warn({ err: error, db: id }, "a database cannot reach its media: it has no socket");
    }
  };
  const endAbandoned = async () => {
    try {
      const uploads = await bucket.endAbandoned();
      if (uploads > 0) log.info({ uploads }, "unfinished uploads of the media bucket were ended");
    } catch (error) {
      // the text alone: errors of an SDK have headers of the request
      log.warn({ reason: (error as Error).message }, "unfinished uploads of the media bucket could not be ended");
    }
  };
  void endAbandoned();
  const daily = setInterval(() => void endAbandoned(), DAY_MS);
  daily.unref();
  let last: Promise<void> = Promise.resolve();
  let isStopped = false;
  const look = async () => {
    for (const [id, server] of servers) if (table.byId(id) === undefined) close(id, server);
    for (const database of [...table.all()]) if (!isStopped && !servers.has(database.id)) await open(database);
  };
  return {
    follow: () => (last = last.then(look)),
    problems: () => watch.problems(),
    async stop() {
      isStopped = true;
      clearInterval(daily);
      await last;
      watch[Symbol.dispose]();
      for (const [id, server] of servers) close(id, server);
      await bucket[Symbol.asyncDispose]();
    },
  };
}

function createServer(
  { bucket, findToken }: ObjectSocketsDeps,
  { id, org_id }: RoutedDatabase,
  bounds: StoreBounds,
  { note }: BucketWatch,
): Server {
  let expected: Buffer | undefined;
  return createStoreServer({
    org_id,
    bounds,
    open: () => bucket.open({ id, org_id }),
    async isAllowed(token) {
      if (expected === undefined) {
        const secret = await findToken({ id, database_id: id }, MEDIA_INSTANCE);
        if (secret === undefined) return false;
        expected = digest(objectsToken(secret).reveal());
      }
      return timingSafeEqual(expected, digest(token));
    },
    note,
  });
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
