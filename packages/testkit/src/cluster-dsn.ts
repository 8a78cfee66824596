import { readFileSync } from "node:fs";
import { join } from "node:path";
import { socketDsn } from "@appdb/postgres/client/socket-dsn";
import { readAccess, SUPERUSER } from "@appdb/postgres/cluster/cluster-access";

/** The superuser DSN of a running cluster of the product, for tests and measurements. `folder` contains the
 *  clusters. */
export function clusterDsn(folder: string, database: string): string {
  const cluster = join(folder, "18");
  const [, , , , sockets] = readFileSync(join(cluster, "postmaster.pid"), "utf8").split("\n");
  const access = readAccess(cluster);
  if (sockets === undefined || access === undefined)
    throw new Error(`The PostgreSQL in ${folder} does not say how it is reached.`);
  return socketDsn({ folder: sockets, database, user: SUPERUSER, password: access.superuser });
}
