/** Bytes of an object to be stored, of a known length. They are read again when a part is sent again. */
export interface MediaContent {
  readonly bytes: number;
  /** Reads the bytes from `start` up to `end`, which is excluded. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
  /** A file of this machine that holds exactly the bytes and does not change; a local store copies it without reading it. */
  readonly path?: string;
  /** Whether a local store may take the file itself instead of a copy. */
  readonly is_movable?: boolean;
}

export interface PutOptions {
  /** The media type that is stored with the object: `image/png`. */
  readonly content_type: string;
  /** Hex. The store compares it where it can. */
  readonly sha256?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface MediaObject {
  readonly key: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly modified_ms: number;
  /** Another one for other content of the key, which only foreign programs give it: an ETag, a generation. */
  readonly version: string;
}

export interface ByteRange {
  readonly start: number;
  /** Excluded. */
  readonly end: number;
}

export interface MediaBody {
  /** Length of the whole object. */
  readonly bytes: number;
  /** As of MediaObject. */
  readonly version: string;
  readonly body: AsyncIterable<Uint8Array>;
}

export interface ListOptions {
  readonly prefix?: string;
  /** Continues a page: the `next` of the previous one. */
  readonly after?: string | undefined;
  /** 1 to 1000. */
  readonly limit?: number;
}

export interface MediaPage {
  /** In the order of the store's names. */
  readonly objects: readonly MediaObject[];
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

export interface SignOptions {
  readonly expires_s: number;
  /** How a browser is to show it: `attachment; filename="a.pdf"`. */
  readonly disposition?: string;
}

/**
 * Objects below one address. An object never changes: a caller that names it by its content may put it again, at once or later.
 *
 * Every method throws AppError: `media_denied` (credentials or rights), `media_store_not_found` (no such bucket or folder),
 * `media_unavailable` (no answer after several attempts), `media_store_full`, or the reason of an aborted signal. Keys are
 * parts of `A-Z a-z 0-9 . _ = -` joined by `/`, at most 512 characters; no part begins with `.` or `-`.
 */
export interface MediaStore extends AsyncDisposable {
  /** The store's address without credentials: `s3://bucket/prefix`. */
  readonly address: string;
  /** Stores an object unless one of the key exists; then nothing is written and `created` is false. After it resolves the
   *  object survives a power cut. A failed put leaves no object. @throws media_invalid when bytes and sha256 differ */
  put(key: string, content: MediaContent, options: PutOptions): Promise<{ readonly created: boolean }>;
  head(key: string): Promise<MediaObject | undefined>;
  /** The file of this machine that is the object, whether or not it exists; undefined for a store that is elsewhere. */
  pathOf(key: string): string | undefined;
  /** Opens an object, or a part of it that lies within its length. @throws media_not_found */
  get(
    key: string,
    options?: { readonly range?: ByteRange; readonly signal?: AbortSignal | undefined },
  ): Promise<MediaBody>;
  list(options?: ListOptions): Promise<MediaPage>;
  /** Deletes objects; a missing one is not an error. */
  delete(keys: readonly string[]): Promise<void>;
  /** Ends uploads in parts that began before this time and were never completed: a killed process cannot. Their parts are
   *  stored, and never listed. Returns how many. Absent where the store forgets them itself. */
  endUploads?(beforeMs: number): Promise<number>;
  /** An address by which anyone can read the object until it expires; undefined when the store gives none. */
  signGet(key: string, options: SignOptions): Promise<string | undefined>;
  /** An address to which anyone can put the object until it expires; undefined when the store gives none. */
  signPut(
    key: string,
    options: { readonly expires_s: number; readonly content_type: string },
  ): Promise<string | undefined>;
}

/** No put takes so long. */
const ABANDONED_MS = 86_400_000;

/** Ends uploads of killed processes in a store. Safe to repeat. */
export async function endAbandoned(store: MediaStore): Promise<number> {
  return (await store.endUploads?.(Date.now() - ABANDONED_MS)) ?? 0;
}

const PART = /^[A-Za-z0-9_][A-Za-z0-9._=-]*$/;
const MAX_KEY = 512;

export function isKey(key: string): boolean {
  return key.length <= MAX_KEY && key.split("/").every((part) => PART.test(part));
}

/** @throws TypeError for a key that would not be one name in every store: a fault of the caller's */
export function checkKey(key: string): string {
  if (!isKey(key)) throw new TypeError(`${JSON.stringify(key)} cannot be a key of a media store.`);
  return key;
}
