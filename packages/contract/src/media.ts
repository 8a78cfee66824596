import type { ManifestCors } from "./manifest.ts";
import { printableName } from "./media-uri.ts";

/**
 * What a cell of a media column holds: an object of a store, or an address as it was given. The other members describe the
 * content, as far as it has been read. A cell's text is this as JSON, members in this order and absent ones left out, so
 * that equal content is equal text.
 */
export interface MediaReference {
  /** An address outside of our stores: http(s), s3, gs or wasbs. */
  readonly url?: string | undefined;
  /** The store by its name in this database: `home`, or the address of a destination. */
  readonly store?: string | undefined;
  /** The object's key in the store: `<first two digits>/<sha256>.<extension>`. */
  readonly key?: string | undefined;
  /** The media type of the content: `image/png`. */
  readonly type?: string | undefined;
  readonly bytes?: number | undefined;
  /** Pixels; of images only, as they are seen (a turned picture is turned). */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Pillow's name of the pixels' form: RGB, L, RGBA. */
  readonly mode?: string | undefined;
  /** What the file was called where it came from. */
  readonly name?: string | undefined;
}

const MEMBERS = ["url", "store", "key", "type", "bytes", "width", "height", "mode", "name"] as const;

/**
 * Prints a reference as its cell holds it. Halves of characters and NUL, which PostgreSQL and addresses refuse, are
 * replaced.
 */
export function printReference(reference: MediaReference): string {
  const text = JSON.stringify(reference, [...MEMBERS]);
  // JSON.stringify escapes them; the test may find other text too
  if (!REFUSED.test(text)) return text;
  const whole = MEMBERS.map((name) => {
    const value = reference[name];
    return [name, typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\ufffd") : value];
  });
  return JSON.stringify(Object.fromEntries(whole));
}

const REFUSED = /\\u(?:0000|d[89a-f][0-9a-f]{2})/;

/** Pillow's names of modes: `1`, `RGBA`, `I;16B`. */
const MODE = /^[A-Za-z0-9;]{1,12}$/;

/** What a worker says of a file, as far as a cell can hold it. Code of the application can say anything. */
export function readDescription(said: Readonly<Record<string, unknown>>): Described {
  const { height, mode, name, width } = said;
  const found: Record<keyof Described, unknown> = {
    width: isCount(width) ? width : undefined,
    height: isCount(height) ? height : undefined,
    mode: typeof mode === "string" && MODE.test(mode) ? mode : undefined,
    name: typeof name === "string" ? printableName(name) || undefined : undefined,
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

type Described = Pick<MediaReference, "width" | "height" | "mode" | "name">;

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Reads a cell of a media column. */
export function readReference(cell: string): MediaReference {
  return JSON.parse(cell) as MediaReference;
}

/** The address of a cell's file that needs no service: its own, or its store and key. */
export function plainAddress(cell: string): string {
  const { url, store, key } = readReference(cell);
  return url ?? `${store}/${key}`;
}

/** The address of a file that exports write, and that an insert of the same database takes. Older servers give no `uri`. */
export function exportedAddress({ address, uri, url }: FileAddresses): string {
  return url ?? uri ?? address;
}

interface FileAddresses {
  readonly address: string;
  readonly uri?: string | undefined;
  readonly url?: string | undefined;
}

/** Signed addresses of files: who has one may read it, on a page of any origin. They need no key and no cookie. */
export const MEDIA_CORS: ManifestCors = {
  origins: ["*"],
  methods: ["GET", "HEAD"],
  headers: ["range", "if-range", "if-none-match"],
  credentials: false,
  max_age_s: 86_400,
};

/**
 * Marks a reference in JSON that is on its way to a caller. JSON has no raw control characters, so that no value
 * can look like one. An address takes its place before the answer leaves (engine, media-addresses.ts).
 */
export const REFERENCE_START = "\u0001";
export const REFERENCE_END = "\u0002";
