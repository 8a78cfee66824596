import type { Lines } from "../../row-files/read-rows.ts";

/** The server ends a body of which nothing arrives for a minute, and files of media are sent between rows. */
const PAUSE_MS = 15_000;

/** Rows as the body of a request. A space before a row keeps the request alive while the row is prepared. */
export class RowBody implements AsyncIterable<Uint8Array> {
  readonly #lines: Lines;
  #failure: { readonly error: unknown } | undefined;

  constructor(lines: Lines) {
    this.#lines = lines;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    const lines = this.#lines[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = lines.next();
        while ((await readyOr(next, PAUSE_MS)) === "late") yield Buffer.from(" ");
        const { done, value } = await next;
        if (done === true) return;
        yield Buffer.from(`${value.join("\n")}\n`);
      }
    } catch (error) {
      this.#failure = { error };
      throw error;
    } finally {
      await lines.return?.();
    }
  }

  /** Throws the error of the rows if they ended the request, otherwise that of the request. */
  reject(error: unknown): never {
    throw this.#failure === undefined ? error : this.#failure.error;
  }
}

/** Whether a promise settles within a time. */
async function readyOr(promise: Promise<unknown>, ms: number): Promise<"ready" | "late"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(resolve, ms, "late");
  });
  const ready = promise.then(
    () => "ready" as const,
    () => "ready" as const,
  );
  try {
    return await Promise.race([ready, late]);
  } finally {
    clearTimeout(timer);
  }
}
