import type { PodAccess, PodEndpoints } from "@appdb/pods/driver/pod-driver";
import { databasePod } from "../../pods/database-paths.ts";
import { servicePod } from "../../pods/service-paths.ts";
import { type RoutingTable, servingInstance } from "./routing-table.ts";

/** How the pods of services are reached. Each instance is asked about once: its requests wait for nothing. */
export interface KnownEndpoints {
  /** At once for an instance that was asked about before. */
  of(databaseId: string, serviceId: string, instance: number): PodEndpoints | Promise<PodEndpoints>;
  /** Asks about the pods that serve from now on, and forgets others. The endpoints of those that are known. */
  follow(table: RoutingTable): PodEndpoints[];
}

interface Known {
  readonly instance: number;
  endpoints: PodEndpoints | Promise<PodEndpoints>;
}

export function createKnownEndpoints(access: Pick<PodAccess, "endpoints">): KnownEndpoints {
  // the instance that was asked for last, by the service's id
  let known = new Map<string, Known>();
  const ask = (databaseId: string, id: string, instance: number): Known => {
    const found = known.get(id);
    if (found?.instance === instance) return found;
    const isMedia = id === databaseId;
    const endpoints = access.endpoints(
      isMedia ? databasePod(databaseId) : servicePod({ id, database_id: databaseId }, instance),
    );
    const asked: Known = { instance, endpoints };
    endpoints.then(
      (answer) => {
        asked.endpoints = answer;
      },
      // the next request asks again
      () => {
        if (known.get(id) === asked) known.delete(id);
      },
    );
    return asked;
  };
  return {
    of(databaseId, serviceId, instance) {
      const found = ask(databaseId, serviceId, instance);
      if (known.get(serviceId) !== found) known.set(serviceId, found);
      return found.endpoints;
    },
    follow(table) {
      const serving = new Map<string, Known>();
      for (const database of table.all()) {
        const media = known.get(database.id);
        if (media !== undefined) serving.set(database.id, media);
        for (const service of database.services) {
          const instance = servingInstance(service);
          if (instance === undefined) continue;
          serving.set(service.id, ask(database.id, service.id, instance));
        }
      }
      known = serving;
      return [...serving.values()].flatMap(({ endpoints }) => (endpoints instanceof Promise ? [] : [endpoints]));
    },
  };
}
