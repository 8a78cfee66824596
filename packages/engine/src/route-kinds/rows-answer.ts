import { appError } from "@appdb/contract/errors";
import { JSON_HEADERS, type RouteAnswer } from "../answers/answers.ts";
import type { Row } from "../compute/row-layout.ts";
import type { KeptAnswer } from "../idempotency/request-store.ts";
import type { Spool } from "../ports.ts";
import type { RowBatch } from "../rows/many-rows.ts";

/** A stored response goes to the database and back in one piece. */
const MAX_KEPT_BYTES = 8_000_000;

export const LINES_TYPE = "application/x-ndjson";

export interface RowsAnswerForm {
  readonly kind: "lines" | "list";
  readonly render: (row: Row) => string;
  /** The response has only the number of rows. */
  readonly is_minimal: boolean;
  /** The response is stored with its request. */
  readonly is_kept: boolean;
}

/** The response to a request with many rows: their outputs in order, as an array, as lines, or as their number. */
export class RowsAnswer implements AsyncDisposable {
  readonly #form: RowsAnswerForm;
  readonly #spool: Spool;
  #rows = 0;

  constructor(form: RowsAnswerForm, spool: Spool) {
    this.#form = form;
    this.#spool = spool;
  }

  /** @throws result_too_large when the response cannot be stored; disk_full */
  async add(batch: Pick<RowBatch, "count" | "rows">): Promise<void> {
    const { render, is_minimal: isMinimal, is_kept: isKept } = this.#form;
    if (isMinimal) this.#rows += batch.count;
    else await this.addTexts(batch.rows.map(render));
    if (isKept && this.#spool.bytes > MAX_KEPT_BYTES) throw tooLarge();
  }

  /** Adds rows that are written already. Returns the number of all rows. @throws disk_full */
  async addTexts(texts: readonly string[]): Promise<number> {
    let text = "";
    for (const one of texts) {
      if (this.#form.kind === "lines") text += `${one}\n`;
      else text += `${this.#rows === 0 && text === "" ? "[" : ","}${one}`;
    }
    if (text !== "") await this.#spool.write(text);
    this.#rows += texts.length;
    return this.#rows;
  }

  /** Ends the response. `return()` of its body releases the unread rest. */
  async finish(headers: Readonly<Record<string, string>>): Promise<RouteAnswer> {
    if (this.#form.is_minimal) {
      await this[Symbol.asyncDispose]();
      const all = { ...JSON_HEADERS, "preference-applied": "return=minimal", ...headers };
      return { status: 200, headers: all, body: `{"num_rows":${this.#rows}}` };
    }
    if (this.#form.kind === "list") await this.#spool.write(this.#rows === 0 ? "[]" : "]");
    const type = this.#form.kind === "lines" ? { "content-type": LINES_TYPE } : JSON_HEADERS;
    const length = { "content-length": String(this.#spool.bytes) };
    return { status: 200, headers: { ...type, ...length, ...headers }, body: new SpoolReader(this.#spool) };
  }

  /** Ends the response as one text. */
  async keep(headers: Readonly<Record<string, string>>): Promise<KeptAnswer> {
    const { status, headers: all, body } = await this.finish(headers);
    if (!(body instanceof SpoolReader)) return { status, headers: all, body: String(body) };
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    const { "content-length": _, ...storedHeaders } = all;
    return { status, headers: storedHeaders, body: Buffer.concat(pieces).toString("utf8") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#spool[Symbol.asyncDispose]();
  }
}

/** Reads a spool and releases it, even if reading never starts; a generator could not do that. */
class SpoolReader implements AsyncIterableIterator<Uint8Array> {
  readonly #spool: Spool;
  readonly #pieces: AsyncIterator<Uint8Array>;

  constructor(spool: Spool) {
    this.#spool = spool;
    this.#pieces = spool.read()[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const step = await this.#pieces.next();
    if (step.done === true) await this.#spool[Symbol.asyncDispose]();
    return step;
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    await this.#spool[Symbol.asyncDispose]();
    return { done: true, value: undefined };
  }
}

function tooLarge(): Error {
  return appError("result_too_large", {
    detail: `The response would exceed ${MAX_KEPT_BYTES} bytes, the maximum for a request with an Idempotency-Key. Nothing was stored.`,
    hint: "Send the header Prefer: return=minimal, which returns the number of rows, or send fewer rows per request.",
    meta: { most_bytes: MAX_KEPT_BYTES },
  });
}
