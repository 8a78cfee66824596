import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { HOME_STORE, MEDIA_FOLDERS, type MediaPlace } from "@appdb/contract/media-place";
import { MediaNames } from "@appdb/engine/media/media-names";
import { MediaObjects } from "@appdb/engine/media/media-objects";
import type { Logger, SqlPool } from "@appdb/engine/ports";
import { ManagedStore, UPLOAD_END } from "@appdb/media/files/managed-store";
import { StoreTokens } from "@appdb/media/files/store-tokens";
import { openHomeStore } from "@appdb/media/stores/home-store";
import { markOwner, mediaFolders, removeLeftovers } from "./own-folders.ts";

interface ManagedStorePlace {
  readonly sql: SqlPool;
  /** The folder of the database's media. */
  readonly folder: string;
  readonly objects: MediaPlace["objects"];
  /** `mediafs://acme:main/home` */
  readonly uri: string;
  /** Signs addresses, together with the database's id or name. */
  readonly secret: string;
  readonly database: string;
  readonly log: Logger;
  room(): Promise<{ readonly bytes: number; readonly measured_at: number } | undefined>;
  /** Refuses files while the disk of the server takes none. @throws disk_full */
  admit?(): Promise<void>;
}

/**
 * Opens the media store of a database for people. Its catalog exists. Only the database's pod or the home's daemon opens
 * it, one at a time: what a killed one was receiving is removed, and so is what other killed processes left.
 */
export async function openManagedStore(place: ManagedStorePlace): Promise<ManagedStore> {
  const { database, folder, log, objects, room, secret, sql, uri } = place;
  const [home, uploads] = [MEDIA_FOLDERS.home, MEDIA_FOLDERS.uploads].map((name) => join(folder, name)) as [
    string,
    string,
  ];
  for (const own of [home, uploads]) mkdirSync(own, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(uploads)) if (name.endsWith(UPLOAD_END)) rmSync(join(uploads, name), { force: true });
  await removeLeftovers(mediaFolders({ folder }));
  const { mark, owner } = markOwner(uploads);
  const recorded = new MediaObjects(sql, { uri });
  return new ManagedStore({
    sql,
    names: new MediaNames(sql, HOME_STORE),
    objects: {
      find: (key) => recorded.find(key),
      record: (object) => recorded.record(object),
      requireWritable: async () => {
        await place.admit?.();
        await recorded.requireWritable();
      },
    },
    store_name: HOME_STORE,
    store: openHomeStore({ folder: home, owner, objects, address: uri }),
    mark,
    uri,
    uploads_folder: uploads,
    tokens: new StoreTokens(secret, database),
    room,
    log,
  });
}
