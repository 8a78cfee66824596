import { count } from "../../output/count.ts";
import type { Output } from "../../output/output.ts";
import { formatBytes } from "../../output/sizes.ts";

/** The result of a copy. */
export interface Copied {
  readonly copied: number;
  /** Files that the destination had with the same content. */
  readonly skipped: number;
  /** Bytes that were moved. */
  readonly bytes: number;
  /** Bytes of copied files whose content the store had: they were not moved. */
  readonly stored_bytes: number;
}

const EVERY_MS = 1_000;

/** Shows on stderr how far a copy is, once it takes longer than a second; as JSON lines for programs. */
export class CopyProgress implements Disposable {
  readonly #out: Pick<Output, "note" | "status">;
  readonly #json: boolean;
  readonly #timer: NodeJS.Timeout;
  #copied = 0;
  #skipped = 0;
  #bytes = 0;
  #storedBytes = 0;

  constructor(out: Pick<Output, "note" | "status">, json: boolean) {
    this.#out = out;
    this.#json = json;
    this.#timer = setInterval(() => this.#show(), EVERY_MS);
    this.#timer.unref();
  }

  /** Counts bytes on their way; negative ones are sent again. */
  moved(bytes: number): void {
    this.#bytes += bytes;
  }

  copied(): void {
    this.#copied += 1;
  }

  /** Counts a file that got its name without a transfer. */
  named(bytes: number): void {
    this.#copied += 1;
    this.#storedBytes += bytes;
  }

  skipped(): void {
    this.#skipped += 1;
  }

  result(): Copied {
    return { copied: this.#copied, skipped: this.#skipped, bytes: this.#bytes, stored_bytes: this.#storedBytes };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #show(): void {
    if (this.#json) this.#out.note(JSON.stringify({ event: "copy", ...this.result() }));
    else this.#out.status(`copying: ${count(this.#copied + this.#skipped, "file")}, ${formatBytes(this.#bytes)}`);
  }
}

/** Files that are copied at once. */
const LANES = 4;

/** Runs `work` over the items, a few at once. The first failure ends it after the items under way. */
export async function inLanes<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  let next = 0;
  let hasFailed = false;
  const lane = async () => {
    while (next < items.length && !hasFailed) {
      const item = items[next++] as Item;
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: LANES }, lane));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}

/** Groups of at most `size` items, in constant memory. */
export async function* inGroups<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  size: number,
): AsyncGenerator<Item[]> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
