import { randomBytes } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import { HOME_STORE } from "@appdb/contract/media-place";
import { MEDIA_SCHEME } from "@appdb/contract/media-uri";
import { BATCHING, Coalescer, DONE, type Outcome } from "../batching/coalescer.ts";
import { SqlError, type SqlPool } from "../ports.ts";

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

/** PostgreSQL's setting with the maximum bytes of the database's own media store, for all its clients; unset: unbounded. */
export const MEDIA_LIMIT = "appdb.media_limit";
/** SQLSTATE of an object that the limit refuses (migration 0018). */
const NO_ROOM = "AM507";
const GB = 1024 ** 3;

/** The objects of a limited media store, with equal content once. */
export interface LimitedUse extends MediaUse {
  readonly limit_bytes: number;
}

/**
 * What the database's own media store holds, recorded objects on their way included, and its limit. Undefined without a
 * limit, and before the catalog exists. @throws database_unavailable
 */
export async function readLimitedUse(sql: SqlPool): Promise<LimitedUse | undefined> {
  const limit = await sql.query({
    text: `select current_setting('${MEDIA_LIMIT}', true) where to_regclass('appdb.media_use') is not null`,
  });
  const text = limit.rows[0]?.[0];
  if (text === null || text === undefined || text === "") return undefined;
  const { rows } = await sql.query({ text: "select objects::text, bytes::text from appdb.media_use" });
  const [objects, bytes] = rows[0] ?? [];
  return { objects: Number(objects), bytes: Number(bytes), limit_bytes: Number(text) };
}

/** The refusal of a file that the limit of the media store `uri` has no room for. `left`: bytes that it has room for. */
export function storeLimitReached(
  uri: string,
  use: LimitedUse,
  bytes: number,
  left = Math.max(0, use.limit_bytes - use.bytes),
  cause?: unknown,
): Error {
  const database = uri.replace(MEDIA_SCHEME, "cloud://").replace(new RegExp(`/${HOME_STORE}$`), "");
  const limitGb = Number((use.limit_bytes / GB).toFixed(2));
  return appError("media_store_full", {
    detail: `A file has ${bytes} bytes, and the media store ${uri} has room for ${left}: ${(use.bytes / GB).toFixed(2)} GB are used by ${use.objects === 1 ? "1 file" : `${use.objects} files`}, and media_gb is ${limitGb}.`,
    hint: `Nothing was stored. See what uses it: cli media du ${uri}. Raise media_gb in the database's entry (cli db update ${database}), or remove files and then free their space: cli media prune ${uri}`,
    meta: { store: uri, bytes, used_bytes: use.bytes, limit_bytes: use.limit_bytes },
    cause,
  });
}

export interface MediaObjectsOptions {
  /** The address of the database's own store, for messages. */
  readonly uri?: string;
  readonly now?: () => number;
}

/** The objects that a database has written to media stores. Records of one moment are written together. */
export class MediaObjects {
  readonly #sql: SqlPool;
  readonly #uri: string;
  readonly #now: () => number;
  readonly #records: Coalescer<StoredObject, void>;
  readonly #fresh = new Map<string, number>();

  constructor(sql: SqlPool, { now = Date.now, uri = HOME_STORE }: MediaObjectsOptions = {}) {
    this.#sql = sql;
    this.#uri = uri;
    this.#now = now;
    this.#records = new Coalescer({
      ...BATCHING,
      weigh: ({ store, key }) => store.length + key.length + 64,
      run: (objects) => this.#writeAll(objects),
    });
  }

  /**
   * Records an object before it is written or used. A collection that is deleting it ends first, and none deletes it
   * within its grace period. @throws media_store_full, database_unavailable, overloaded
   */
  async record(object: StoredObject): Promise<void> {
    const name = `${object.store} ${object.key}`;
    const known = this.#fresh.get(name);
    if (known !== undefined && this.#now() - known < FRESH_MS) return;
    await this.#records.submit(object);
    if (this.#fresh.size >= MAX_FRESH) this.#fresh.clear();
    this.#fresh.set(name, this.#now());
  }

  /** Whether an object of a store is recorded. @throws database_unavailable */
  async hasAny(store: string): Promise<boolean> {
    const { row_count: count } = await this.#sql.query({
      text: "select from appdb.media_objects where store = $1 limit 1",
      values: [store],
    });
    return count > 0;
  }

  /** A recorded object by its key, in whichever store it is: equal keys have equal content. @throws database_unavailable */
  async find(key: string): Promise<StoredObject | undefined> {
    const { rows } = await this.#sql.query({
      text: "select store, bytes::text from appdb.media_objects where key = $1 order by put_at desc limit 1",
      values: [key],
    });
    const [store, bytes] = rows[0] ?? [];
    return store == null ? undefined : { store, key, bytes: Number(bytes) };
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

  /** Objects that do not fit together are recorded one after the other, as far as they fit. */
  async #writeAll(objects: readonly StoredObject[]): Promise<readonly Outcome<void>[]> {
    try {
      await this.#write(objects);
      return objects.map(() => DONE);
    } catch (error) {
      if (!(error instanceof SqlError) || error.sqlstate !== NO_ROOM) throw error;
      const [only] = objects;
      if (only !== undefined && objects.length === 1) return [{ error: await this.#noRoom(only, error) }];
    }
    const outcomes: Outcome<void>[] = [];
    for (const object of objects) outcomes.push(...(await this.#writeAll([object])));
    return outcomes;
  }

  async #noRoom({ bytes }: StoredObject, cause: SqlError): Promise<unknown> {
    const use = await readLimitedUse(this.#sql);
    return use === undefined ? cause : storeLimitReached(this.#uri, use, bytes, undefined, cause);
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
