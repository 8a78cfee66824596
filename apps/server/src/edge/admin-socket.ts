import { join } from "node:path";
import { nameRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import type { PodServerPaths } from "../pods/database-paths.ts";

/**
 * The socket by which a home's control plane calls its gateway. Only its user can open it. It exists in any gateway
 * process, with or without a domain. The gateway treats its requests like all others.
 * @throws postgres_failed
 */
export function localDoor({ home, runtime_base: runtimeBase }: PodServerPaths): string {
  return join(doorFolder({ home, runtime_base: runtimeBase }), "gateway.sock");
}

/** The folder of a home's gateway sockets. @throws postgres_failed */
export function doorFolder({ home, runtime_base: runtimeBase }: PodServerPaths): string {
  return nameRuntimeFolder(join(home, "server", "gateway"), runtimeBase);
}
