import { join } from "node:path";
import { nameRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import type { PodServerPaths } from "../pods/database-paths.ts";

/**
 * Where the gateway of a home is asked by the control plane of that home: a socket that only its user can open, in whatever process the
 * gateway runs, with a domain or without. What comes in by it is treated as all else is. @throws postgres_failed
 */
export function localDoor({ home, runtime_base: runtimeBase }: PodServerPaths): string {
  return join(doorFolder({ home, runtime_base: runtimeBase }), "gateway.sock");
}

/** Where the sockets of a home's gateway lie. @throws postgres_failed */
export function doorFolder({ home, runtime_base: runtimeBase }: PodServerPaths): string {
  return nameRuntimeFolder(join(home, "server", "gateway"), runtimeBase);
}
