import { mkdirSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { VolumeLayout } from "@appdb/pods/driver/local-driver";
import type { PodSpec, PodVolume, VolumeOwner, VolumeSource } from "@appdb/pods/driver/pod-driver";
import { removeFolder } from "@appdb/system/files/remove-folder";

/** A home as small as tests need it: one folder a database, and a folder a volume. Pods have no image. */
export function createTestLayout(home: string): VolumeLayout {
  return {
    folder: (source) => join(home, ...partsOf(source)),
    imageFolders: async () => [],
    async makeFolders({ volumes }) {
      for (const { source, target } of volumes)
        if (MADE.includes(source.kind)) mkdirSync(target, { recursive: true, mode: 0o700 });
    },
    async listOwners() {
      const folders = readdirSync(home, { withFileTypes: true, recursive: true }).filter((entry) =>
        entry.isDirectory(),
      );
      const made_at = new Date();
      return folders.flatMap(({ name, parentPath }): VolumeOwner[] => {
        if (/^db-\d+$/.test(name)) return [{ database_id: name, service_id: null, made_at }];
        const serviceId = /^log-(.+)$/.exec(name)?.[1];
        return serviceId === undefined ? [] : [{ database_id: basename(parentPath), service_id: serviceId, made_at }];
      });
    },
    removeService: ({ database_id: databaseId, service_id: serviceId }) =>
      removeFolder(join(home, databaseId, `log-${serviceId}`)),
    removeDatabase: (databaseId) => removeFolder(join(home, databaseId)),
  };
}

/** No folder above these is a pod's. */
const MADE: readonly VolumeSource["kind"][] = ["data", "logs", "media", "sockets"];

function partsOf(source: VolumeSource): string[] {
  switch (source.kind) {
    case "data":
      return [source.database_id, "data"];
    case "media":
      return [source.database_id, "media"];
    case "objects":
      return [source.database_id, "objects"];
    case "logs":
      return [source.database_id, source.service_id === null ? "log" : `log-${source.service_id}`];
    // where version 0.8.0 kept them
    case "services":
      return [source.database_id, "data", "services"];
    case "scratch":
      return [source.pod.database_id, "data", "services", "one", `scratch-${source.pod.id}`];
    case "sockets":
      return [source.pod.database_id, `run-${source.pod.id}`];
    case "project-trees":
      return [source.database_id, "files"];
    case "project-tree":
      return [source.database_id, "files", source.digest ?? "none"];
  }
}

/** A volume at the place that a layout has for it. */
export function volumeOf(
  { folder }: Pick<VolumeLayout, "folder">,
  source: VolumeSource,
  access: PodVolume["access"],
): PodVolume {
  return { name: source.kind, source, target: folder(source), access };
}

/** The name of the pod of a spec. */
export function podNameOf({ id, labels }: Pick<PodSpec, "id" | "labels">) {
  return { id, database_id: labels.database_id };
}
