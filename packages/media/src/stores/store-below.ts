import { checkKey, type MediaStore } from "./media-store.ts";

/** The objects of a store whose keys begin with `prefix`, under the rest of their keys. It does not own the store. */
export function storeBelow(store: MediaStore, prefix: string): MediaStore {
  // the key is checked before it is joined, so that it stays below
  const inner = (key: string) => prefix + checkKey(key);
  return {
    address: `${store.address}/${prefix.slice(0, -1)}`,
    put: (key, content, options) => store.put(inner(key), content, options),
    async head(key) {
      const found = await store.head(inner(key));
      return found === undefined ? undefined : { ...found, key };
    },
    pathOf: (key) => store.pathOf(inner(key)),
    get: (key, options) => store.get(inner(key), options),
    async list({ prefix: given = "", ...options } = {}) {
      const { next, objects } = await store.list({ ...options, prefix: prefix + given });
      const below = objects.filter(({ key }) => key.startsWith(prefix));
      return { next, objects: below.map((found) => ({ ...found, key: found.key.slice(prefix.length) })) };
    },
    delete: (keys) => store.delete(keys.map(inner)),
    signGet: (key, options) => store.signGet(inner(key), options),
    signPut: (key, options) => store.signPut(inner(key), options),
    async [Symbol.asyncDispose]() {},
  };
}

/** Deletes all objects of a store. Safe to repeat. */
export async function emptyStore(store: MediaStore): Promise<number> {
  let deleted = 0;
  for (;;) {
    const { objects } = await store.list();
    if (objects.length === 0) return deleted;
    await store.delete(objects.map(({ key }) => key));
    deleted += objects.length;
  }
}
