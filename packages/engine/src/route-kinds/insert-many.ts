import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { AppError } from "@appdb/contract/errors";
import type { ManifestRowRoute } from "@appdb/contract/manifest";
import type { RequestCaller } from "@appdb/contract/worker-protocol";
import { type RouteAnswer, wholeText } from "../answers/answers.ts";
import type { CellErrors } from "../compute/cell-errors.ts";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import { halfOf, type KeptAnswer, type Once } from "../idempotency/request-store.ts";
import type { Spool } from "../ports.ts";
import type { Slot } from "../routes/admission.ts";
import { CELL_ERRORS_HEADER, failedItem } from "../routes/cell-error-header.ts";
import { readIdempotencyKey } from "../routes/idempotency-key.ts";
import { wantsMinimal } from "../routes/minimal-answer.ts";
import type { RouteRequest } from "../routes/route.ts";
import type { RouteContext } from "../routes/route-context.ts";
import { type GivenMedia, takenInBatches } from "../rows/given-media.ts";
import { type RowTexts, readRows } from "../rows/many-rows.ts";
import { isArrayText, splitArray } from "../rows/split-array.ts";
import { splitFrames } from "../rows/split-frames.ts";
import { splitLines } from "../rows/split-lines.ts";
import { type ColumnReader, compileColumnReader } from "../rows/stored-columns.ts";
import type { RowReader } from "../rows/validate-row.ts";
import { AwaitedBody } from "../write/awaited-body.ts";
import type { BulkSteps, BulkWriter } from "../write/bulk-writer.ts";
import { LINES_TYPE, RowsAnswer } from "./rows-answer.ts";

/** Content types with one row per line. */
export const LINES_TYPES: readonly string[] = [LINES_TYPE, "application/jsonl", "application/jsonlines"];

/** Whether a route takes many rows. A function makes a response for one row, and an export writes one row. */
export function acceptsManyRows(route: ManifestRowRoute): boolean {
  return route.kind === "insert" && route.handler === null && (route.export_sql ?? null) === null;
}

export interface InsertManyInput {
  readonly route: ManifestRowRoute;
  readonly layout: RowLayout;
  readonly readFor: (caller: RequestCaller | undefined) => RowReader;
  readonly given: GivenMedia<Row> | undefined;
  readonly render: (row: Row) => string;
  /** The route, as the scope of idempotency keys. */
  readonly routeText: string;
}

/** Stores the rows of one request, all or none, and returns their outputs in order. */
export class InsertMany {
  readonly #context: RouteContext;
  readonly #input: InsertManyInput;
  readonly #writer: BulkWriter;
  readonly #columns: ColumnReader | undefined;

  constructor(context: RouteContext, input: InsertManyInput) {
    this.#context = context;
    this.#input = input;
    this.#writer = context.bulkWriter(input.route);
    const { checks, generators } = context;
    this.#columns = compileColumnReader(input.layout, input.route.inputs, checks, generators);
  }

  /** Whether a request has many rows, or is not a single row. */
  accepts(request: RouteRequest): boolean {
    return request.stream !== undefined || arrayOf(request) !== undefined;
  }

  /** Refuses names of the media store to a caller that may not read it. @throws forbidden */
  async check(request: RouteRequest): Promise<void> {
    const { given, readFor } = this.#input;
    const text = arrayOf(request);
    if (given === undefined || request.caller?.reads_media !== false || text === undefined) return;
    const rows = readRows({ kind: "list", texts: splitArray(text) }, readFor(request.caller), this.#limits);
    try {
      for await (const _ of rows);
    } catch (error) {
      // any other one is the job's
      if (error instanceof AppError && error.code === "forbidden") throw error;
    }
  }

  get #limits() {
    return { ...this.#context.limits, batch_rows: this.#writer.batch_rows };
  }

  /** @throws as `BulkWriter.store`; invalid_idempotency_key, idempotency_mismatch, result_too_large */
  async run(request: RouteRequest): Promise<RouteAnswer> {
    const once = readIdempotencyKey(request, this.#input.routeText);
    if (once === undefined) return this.#store(request, request.stream);
    if (request.stream === undefined) return this.#runOnce(request, once, undefined);
    // The digest of the request is known at the end of its body, so the body is spooled until then.
    await using body = this.#context.openSpool();
    const hash = createHash("sha256")
      .update(request.search ?? "")
      .update("\0");
    for await (const piece of request.stream) {
      hash.update(piece);
      await body.write(piece);
    }
    const digest = request.once?.digest ?? halfOf(hash.digest("hex"));
    return await this.#runOnce(request, { ...once, digest }, body);
  }

  #runOnce(request: RouteRequest, once: Once, body: Spool | undefined): Promise<KeptAnswer> {
    return this.#context.once.run(once, true, async () => {
      const answer = await this.#store(request, body?.read(), once);
      return { ...answer, body: wholeText(answer) };
    });
  }

  #textsOf(request: RouteRequest, stream: AsyncIterable<Uint8Array> | undefined, once?: Once): RowTexts {
    if (stream === undefined) return { kind: "list", texts: splitArray(arrayOf(request) ?? "[]") };
    if (request.has_columns !== true) return { kind: "lines", texts: splitLines(stream, this.#limits) };
    const { given } = this.#input;
    // a response with rows, and files of the media store, need them as rows
    const isStored = this.#writer.stores_given && given === undefined && once === undefined && wantsMinimal(request);
    const readColumns = isStored ? this.#columns : undefined;
    return { kind: "lines", texts: splitFrames(stream, this.#limits), read_columns: readColumns };
  }

  /** With `once`, the response is stored with the rows, and is not streamed. */
  async #store(
    request: RouteRequest,
    stream: AsyncIterable<Uint8Array> | undefined,
    once?: Once,
  ): Promise<RouteAnswer> {
    const { readFor, route, layout, render, given } = this.#input;
    const { admission, deps } = this.#context;
    const limits = this.#limits;
    const signal = request.signal ?? new AbortController().signal;
    // with a key, the body has arrived
    const isAwaited = stream !== undefined && once === undefined;
    const { clock, sql } = deps;
    const body = isAwaited ? new AwaitedBody({ clock, sql, packedBytes: request.packedBytes }, stream) : undefined;
    const source = this.#textsOf(request, body?.read() ?? stream, once);
    const rows = takenInBatches(readRows(source, readFor(request.caller), limits), given);
    const failed = new FailedCells(layout);
    const form = {
      kind: source.kind,
      render,
      is_minimal: wantsMinimal(request),
      is_kept: once !== undefined,
    };
    const answer = new RowsAnswer(form, this.#context.openSpool());
    let storedAnswer: KeptAnswer | undefined;
    const steps: BulkSteps = {
      body,
      afterWrite: async (batch) => {
        if (route.on_error === "ignore" && batch.columns === undefined) failed.count(batch.rows);
        await answer.add(batch);
      },
      finish: async (connection) => {
        if (once === undefined) return;
        storedAnswer = await answer.keep(failed.headers());
        await this.#context.keepAnswer(connection, { ...once, answer: storedAnswer });
      },
    };
    try {
      const store = (slot: Slot) => {
        body?.holdSlot(slot);
        return this.#writer.store(rows, steps, signal);
      };
      await admission.run(signal, store, request.caller?.id ?? request.sender);
      return storedAnswer ?? (await answer.finish(failed.headers()));
    } catch (error) {
      await answer[Symbol.asyncDispose]();
      throw error;
    }
  }
}

/** Number of failed cells per column, for the header that names them. */
export class FailedCells {
  readonly #layout: RowLayout;
  readonly #among: ReadonlySet<string> | undefined;
  readonly #rows = new Map<string, number>();

  /** `among`: the columns to count; omitted: all. */
  constructor(layout: RowLayout, among?: ReadonlySet<string>) {
    this.#layout = layout;
    this.#among = among;
  }

  count(rows: readonly Row[]): void {
    for (const row of rows) {
      const text = row[this.#layout.errors];
      if (typeof text !== "string") continue;
      for (const name of Object.keys(JSON.parse(text) as CellErrors)) {
        if (this.#among?.has(name) === false) continue;
        this.#rows.set(name, (this.#rows.get(name) ?? 0) + 1);
      }
    }
  }

  /** `fare;rows=3, tax;rows=3` */
  headers(): Readonly<Record<string, string>> {
    if (this.#rows.size === 0) return {};
    return {
      [CELL_ERRORS_HEADER]: [...this.#rows]
        .map(([name, rows]) => `${failedItem(this.#layout, name)};rows=${rows}`)
        .join(", "),
    };
  }
}

/** The text of a body that is an array. The reader of one row refuses invalid UTF-8. */
export function arrayOf({ body }: RouteRequest): string | undefined {
  if (typeof body !== "string" && !isUtf8(body)) return undefined;
  const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8");
  return isArrayText(text) ? text : undefined;
}
