import { AppError, appError } from "@appdb/contract/errors";
import type { MediaKind } from "@appdb/contract/types";
import { Admission } from "@appdb/engine/routes/admission";
import { pieceFreer } from "@appdb/system/files/free-pieces";
import { type Downloaded, type DownloadOptions, download, withoutSecrets } from "./download.ts";
import type { FetchCurrent, FileCache } from "./file-cache.ts";
import { requireKind } from "./fits-kind.ts";

const AT_ONCE = 32;
const MAX_WAITING = 1_000;
/** Downloads ask this often whether the disk is full. */
const CHECKED_BYTES = 64_000_000;

export interface DownloadsOptions extends Pick<DownloadOptions, "allows_private" | "max_bytes" | "total_ms"> {
  /** Maximum bytes of all running downloads together. */
  readonly bytes_at_once: number;
  /** Refuses bytes while the disk of the database is full. @throws disk_full */
  requireWritable(): Promise<unknown>;
  readonly at_once?: number;
  readonly max_waiting?: number;
}

/** Counts bytes before they are written. @throws overloaded, disk_full */
export type CountBytes = (bytes: number) => Promise<void> | undefined;

/** The downloads of a process: a number of them at once, with a number of bytes. The others wait. */
export class Downloads {
  readonly #options: DownloadsOptions;
  readonly #slots: Admission;
  readonly #free = pieceFreer();
  /** Of running downloads. */
  #bytes = 0;
  #unchecked = 0;

  constructor(options: DownloadsOptions) {
    const { at_once: atOnce = AT_ONCE, max_waiting: maxWaiting = MAX_WAITING } = options;
    this.#options = options;
    this.#slots = new Admission({ running: atOnce, waiting: maxWaiting }, "downloads");
  }

  get max_bytes(): number {
    return this.#options.max_bytes;
  }

  /** Downloads an address into a new file. Undefined: the known content is current.
   *  @throws as `download`; overloaded, disk_full */
  async run(
    address: string,
    path: string,
    { signal, known, onHead }: Pick<DownloadOptions, "signal" | "known" | "onHead"> = {},
  ): Promise<Downloaded | undefined> {
    return await this.within(signal, (onBytes) =>
      download(address, path, { ...this.#options, signal, known, onBytes, onHead, free: this.#free }),
    );
  }

  /** Runs another copy of given content in one of the places. @throws overloaded; what `work` throws */
  async within<T>(signal = new AbortController().signal, work: (onBytes: CountBytes) => Promise<T>): Promise<T> {
    let own = 0;
    const onBytes: CountBytes = (bytes) => {
      own += bytes;
      this.#bytes += bytes;
      if (this.#bytes > this.#options.bytes_at_once) throw tooManyBytes(this.#options.bytes_at_once);
      this.#unchecked += bytes;
      return this.#unchecked < CHECKED_BYTES ? undefined : this.#check();
    };
    return await this.#slots.run(signal, async () => {
      try {
        return await work(onBytes);
      } finally {
        this.#bytes -= own;
      }
    });
  }

  async #check(): Promise<void> {
    this.#unchecked = 0;
    await this.#options.requireWritable();
  }
}

/** The cached file of an http(s) address. The kind of its column, if given, stops a download of another by its first
 *  bytes. @throws as `Downloads.run`; media_invalid */
export async function currentDownload(
  { cache, downloads }: { readonly cache: FileCache; readonly downloads: Pick<Downloads, "run"> },
  url: string,
  { kind, signal }: { readonly kind: MediaKind | undefined; readonly signal: AbortSignal | undefined },
): Promise<string> {
  const onHead = kind === undefined ? undefined : (head: Uint8Array) => requireKind(withoutSecrets(url), kind, head);
  const fetch: FetchCurrent = async (path, known) => {
    const found = await downloads.run(url, path, { signal, known, onHead });
    return found === undefined ? undefined : { ...found, version: found.sha256 };
  };
  try {
    return await cache.current(url, fetch, signal);
  } catch (error) {
    // The same download may have begun for a column of another kind, which refused it.
    const isOfOther = error instanceof AppError && error.code === "media_invalid" && error.meta.kind !== kind;
    if (!isOfOther) throw error;
    return await cache.current(url, fetch, signal);
  }
}

function tooManyBytes(bytes: number): Error {
  return appError("overloaded", {
    detail: `Running downloads have more than ${bytes} bytes together.`,
    hint: "Send the request again in a moment.",
    meta: { bytes_at_once: bytes },
  });
}
