import { existsSync } from "node:fs";
import type { MediaSocket } from "@appdb/contract/media-place";
import { openDiskStore } from "./disk-store.ts";
import type { MediaStore } from "./media-store.ts";
import { openServerStore } from "./server-store.ts";

export interface HomeStoreInput {
  /** The folder of the store. */
  readonly folder: string;
  /** As `openDiskStore` takes it. */
  readonly owner: string;
  /** Reaches the bucket of the server's operator; undefined: objects are in the folder. */
  readonly objects: MediaSocket | undefined;
  /** `mediafs://acme:main/home` */
  readonly address: string;
}

/** Opens a database's own store: in its folder, or in the bucket of the server's operator. */
export function openHomeStore({ address, folder, objects, owner }: HomeStoreInput): MediaStore {
  const disk = openDiskStore(folder, owner);
  return objects === undefined ? disk : withEarlier(openServerStore(objects, address), disk);
}

/** The cursor of a list that continues with the earlier store. */
const EARLIER = "disk:";

/**
 * A store that stays readable where it is, below the one that takes its place: objects are put into `store`, and found in
 * `earlier` first. A list gives those of `earlier` first.
 */
export function withEarlier(store: MediaStore, earlier: MediaStore): MediaStore {
  const holder = async (key: string) => ((await earlier.head(key)) === undefined ? store : earlier);
  return {
    address: store.address,
    async put(key, content, options) {
      if ((await earlier.head(key)) !== undefined) return { created: false };
      return await store.put(key, content, options);
    },
    head: async (key) => (await earlier.head(key)) ?? (await store.head(key)),
    pathOf(key) {
      const path = earlier.pathOf(key);
      return path !== undefined && existsSync(path) ? path : store.pathOf(key);
    },
    get: async (key, options) => await (await holder(key)).get(key, options),
    async list({ after, ...options } = {}) {
      if (after !== undefined && !after.startsWith(EARLIER)) return await store.list({ ...options, after });
      const page = await earlier.list({ ...options, after: after?.slice(EARLIER.length) });
      if (page.next !== undefined) return { objects: page.objects, next: EARLIER + page.next };
      if (page.objects.length > 0) return { objects: page.objects, next: EARLIER + page.objects.at(-1)?.key };
      return await store.list(options);
    },
    async delete(keys) {
      await earlier.delete(keys);
      await store.delete(keys);
    },
    signGet: async (key, options) => await (await holder(key)).signGet(key, options),
    signPut: (key, options) => store.signPut(key, options),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await earlier[Symbol.asyncDispose]();
    },
  };
}
