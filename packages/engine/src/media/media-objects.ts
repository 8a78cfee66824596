import { randomBytes } from "node:crypto";
import { BATCHING, Coalescer, DONE } from "../batching/coalescer.ts";
import type { SqlPool } from "../ports.ts";

const SECRET_BYTES = 32;
/** An object of these milliseconds is not recorded again by the same process. */
const FRESH_MS = 600_000;
const MAX_FRESH = 10_000;

/** An object of a media store. */
export interface StoredObject {
  /** The store by its name in cells. */
  readonly store: string;
  readonly key: string;
  readonly bytes: number;
}

/** The size of a store's objects on disks with blocks of this many bytes. */
const BLOCK_BYTES = 4_096;

export interface MediaUse {
  readonly objects: number;
  readonly bytes: number;
}

/** The objects of a store and their size on its disk. Zero before the catalog exists. @throws database_unavailable */
export async function readMediaUse(sql: SqlPool, store: string): Promise<MediaUse> {
  const catalog = await sql.query({ text: "select to_regclass('appdb.media_objects')::text" });
  if (catalog.rows[0]?.[0] === null) return { objects: 0, bytes: 0 };
  const { rows } = await sql.query({
    text: `select count(*)::text, (coalesce(sum((bytes + ${BLOCK_BYTES - 1}) / ${BLOCK_BYTES}), 0) * ${BLOCK_BYTES})::text
      from appdb.media_objects where store = $1`,
    values: [store],
  });
  return { objects: Number(rows[0]?.[0]), bytes: Number(rows[0]?.[1]) };
}

/** PostgreSQL's setting with the bytes that may still be written, for all its clients; unset while there are enough. */
export const DISK_ROOM = "appdb.disk_room";

/** Bytes that the disk of the database still takes; undefined for enough. @throws database_unavailable */
export async function readDiskRoom(sql: SqlPool): Promise<number | undefined> {
  const { rows } = await sql.query({ text: `select current_setting('${DISK_ROOM}', true)` });
  const text = rows[0]?.[0];
  return text === null || text === undefined || text === "" ? undefined : Number(text);
}

/** The objects that a database has written to media stores. Records of one moment are written together. */
export class MediaObjects {
  readonly #sql: SqlPool;
  readonly #now: () => number;
  readonly #records: Coalescer<StoredObject, void>;
  readonly #fresh = new Map<string, number>();

  constructor(sql: SqlPool, now: () => number = Date.now) {
    this.#sql = sql;
    this.#now = now;
    this.#records = new Coalescer({
      ...BATCHING,
      weigh: ({ store, key }) => store.length + key.length + 64,
      run: async (objects) => {
        await this.#write(objects);
        return objects.map(() => DONE);
      },
    });
  }

  /**
   * Records an object before it is written or used. A collection that is deleting it ends first, and none deletes it
   * within its grace period. @throws database_unavailable, overloaded
   */
  async record(object: StoredObject): Promise<void> {
    const name = `${object.store} ${object.key}`;
    const known = this.#fresh.get(name);
    if (known !== undefined && this.#now() - known < FRESH_MS) return;
    await this.#records.submit(object);
    if (this.#fresh.size >= MAX_FRESH) this.#fresh.clear();
    this.#fresh.set(name, this.#now());
  }

  /** Refuses content that could not be recorded. @throws disk_full, database_unavailable */
  async requireWritable(): Promise<void> {
    // a statement that writes nothing is refused like any other
    await this.#sql.query({ text: "insert into appdb.media_secret (secret) select null::bytea where false" });
  }

  /** The secret that signs addresses; the first process makes it. @throws database_unavailable */
  async readSecret(): Promise<Buffer> {
    const { rows } = await this.#sql.query({ text: "select encode(secret, 'hex') from appdb.media_secret" });
    const secret = rows[0]?.[0];
    if (typeof secret === "string") return Buffer.from(secret, "hex");
    // refused while the disk is full, when files that exist can still be read
    await this.#sql.query({
      text: "insert into appdb.media_secret (secret) values ($1) on conflict do nothing",
      values: [`\\x${randomBytes(SECRET_BYTES).toString("hex")}`],
    });
    return await this.readSecret();
  }

  /** One statement needs each object once, in one order for all processes, so that none waits in a circle. */
  async #write(objects: readonly StoredObject[]): Promise<void> {
    const unique = new Map(objects.map((object) => [`${object.store} ${object.key}`, object]));
    const sorted = [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
    await this.#sql.query({
      name: "record_media",
      text: `insert into appdb.media_objects (store, key, bytes, put_at)
        select store, key, bytes, now() from unnest($1::text[], $2::text[], $3::bigint[]) as given (store, key, bytes)
        on conflict (store, key) do update set put_at = excluded.put_at`,
      values: [sorted.map(({ store }) => store), sorted.map(({ key }) => key), sorted.map(({ bytes }) => bytes)],
    });
  }
}
