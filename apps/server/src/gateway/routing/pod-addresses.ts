import type { PodServerPaths } from "../../pods/database-paths.ts";
import { type ServicePaths, servicePaths } from "../../pods/service-paths.ts";
import { type RoutingTable, servingInstance } from "./routing-table.ts";

/** Socket paths of service pods, cached: computing one needs a hash and a disk access. */
export interface PodAddresses {
  of(databaseId: string, serviceId: string, instance: number): ServicePaths;
  /** The paths of all serving pods. Drops the others. */
  serving(table: RoutingTable): ServicePaths[];
}

interface Named {
  readonly instance: number;
  readonly places: ServicePaths;
}

export function createPodAddresses(place: PodServerPaths): PodAddresses {
  // the last requested instance, by the service's id
  let known = new Map<string, Named>();
  const find = (databaseId: string, id: string, instance: number): Named => {
    const found = known.get(id);
    if (found?.instance === instance) return found;
    return { instance, places: servicePaths(place, { id, database_id: databaseId }, instance) };
  };
  return {
    of(databaseId, serviceId, instance) {
      const found = find(databaseId, serviceId, instance);
      if (known.get(serviceId) !== found) known.set(serviceId, found);
      return found.places;
    },
    serving(table) {
      const serving = new Map<string, Named>();
      for (const database of table.all()) {
        for (const service of database.services) {
          const instance = servingInstance(service);
          if (instance === undefined) continue;
          serving.set(service.id, find(database.id, service.id, instance));
        }
      }
      known = serving;
      return [...serving.values()].map(({ places }) => places);
    },
  };
}
