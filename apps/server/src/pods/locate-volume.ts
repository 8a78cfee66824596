import { join } from "node:path";
import type { VolumeLayout } from "@appdb/pods/driver/local-driver";
import type { PodName } from "@appdb/pods/driver/pod-driver";
import { databasePaths, NO_FILES, type PodServerPaths } from "./database-paths.ts";
import { parseServicePodId, SERVICE_LOG, serviceFolder, servicePaths, servicesFolder } from "./service-paths.ts";

/** Says where a volume lies in a home. */
export function createLocateVolume(place: PodServerPaths): VolumeLayout["folder"] {
  return (source) => {
    switch (source.kind) {
      case "data":
        return databasePaths(place, source.database_id).data_folder;
      case "media":
        return databasePaths(place, source.database_id).media_folder;
      case "objects":
        return databasePaths(place, source.database_id).objects_folder;
      case "logs":
        return logFolder(place, source);
      case "services":
        return servicesFolder(place, source.database_id);
      case "scratch":
        return podFolders(place, source.pod).scratch_folder;
      case "sockets":
        return podFolders(place, source.pod).run_folder;
      case "project-trees":
        return databasePaths(place, source.database_id).files_folder;
      case "project-tree":
        return join(databasePaths(place, source.database_id).files_folder, source.digest ?? NO_FILES);
    }
  };
}

function logFolder(place: PodServerPaths, log: { readonly database_id: string; readonly service_id: string | null }) {
  if (log.service_id === null) return databasePaths(place, log.database_id).log_folder;
  return join(serviceFolder(place, { id: log.service_id, database_id: log.database_id }), SERVICE_LOG);
}

/** The folders that are a pod's own. The scratch files of a database lie with its data. */
function podFolders(place: PodServerPaths, { database_id: databaseId, id }: PodName) {
  const service = parseServicePodId(id);
  if (service !== undefined) {
    return servicePaths(place, { id: service.service_id, database_id: databaseId }, service.instance);
  }
  const { folder, run_folder } = databasePaths(place, databaseId);
  return { run_folder, scratch_folder: join(folder, "scratch") };
}
