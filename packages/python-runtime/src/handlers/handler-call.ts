import { appError } from "@appdb/contract/errors";
import { type FromWorker, HTTP_WINDOW_BYTES, type HttpFailure, type ToWorker } from "@appdb/contract/worker-protocol";
import { type HandlerAnswer, HandlerFailed, type HandlerRequest } from "@appdb/engine/handler-ports";
import { PieceQueue } from "../workers/piece-queue.ts";
import type { HandlerProcess } from "./handler-process.ts";

export type HttpFrame = Extract<FromWorker, { call: number | null; t: `http_${string}` }>;
type Send = (frame: Extract<ToWorker, { t: `http${string}` }>) => void;

/** Characters of an HTTP field name. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
/** Characters of a field value: no control characters, nothing beyond ISO 8859-1. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Fields about the connection or the framing of a body. Only the HTTP server sets them. */
const NOT_THEIRS = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "proxy-connection",
  // Announces trailers, which handlers cannot send; Node refuses it with a known length.
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const EMPTY = new Uint8Array(0);

/** One request to a worker, with its body outgoing and its answer incoming. It ends once, by `onEnd`. */
export class HandlerCall {
  readonly number: number;
  readonly request: HandlerRequest;
  readonly answer: Promise<HandlerAnswer>;
  /** The process that runs it. */
  home: HandlerProcess | undefined;
  readonly #timeoutMs: number;
  readonly #onEnd: (call: HandlerCall) => void;
  readonly #pieces = new PieceQueue();
  #settle!: { resolve: (answer: HandlerAnswer) => void; reject: (error: unknown) => void };
  #send: Send | undefined;
  #hasStarted = false;
  #hasEnded = false;
  #windowBytes = HTTP_WINDOW_BYTES;
  #onRoom: (() => void) | undefined;
  #forget: (() => void) | undefined;

  constructor(number: number, request: HandlerRequest, timeoutMs: number, onEnd: (call: HandlerCall) => void) {
    this.number = number;
    this.request = request;
    this.#timeoutMs = timeoutMs;
    this.#onEnd = onEnd;
    this.answer = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // The answer may be awaited after its failure.
    this.answer.catch(() => undefined);
    const { signal } = request;
    if (signal === undefined) return;
    const onAbort = () => this.#leave(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#forget = () => signal.removeEventListener("abort", onAbort);
  }

  get name(): string {
    return this.request.handler?.id ?? "the application object";
  }

  /** Whether the call has ended. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Sends the request to a worker. */
  begin(send: Send): void {
    this.#send = send;
    const { head, handler, body, caller = null } = this.request;
    const isWhole = body instanceof Uint8Array && body.length <= HTTP_WINDOW_BYTES;
    const timeoutS = this.#timeoutMs / 1000;
    const data = isWhole ? body : EMPTY;
    const more = !isWhole;
    send({ t: "http", call: this.number, handler, request: head, caller, timeout_s: timeoutS, data, more });
    if (!more) return;
    this.#sendBody(body instanceof Uint8Array ? [body] : body).catch((error: unknown) => this.#leave(error));
  }

  /** Handles a frame of the worker. */
  take(frame: HttpFrame): void {
    switch (frame.t) {
      case "http_start":
        this.#start(frame);
        return;
      case "http_data":
        if (frame.data.length > 0) this.#pieces.push(copy(frame.data));
        if (!frame.more) this.#end();
        return;
      case "http_taken":
        this.#windowBytes += frame.bytes;
        this.#onRoom?.();
        return;
      case "http_failed":
        this.fail(errorOf(frame.failure));
    }
  }

  /** Ends the call with an error, before or during its answer. */
  fail(error: unknown): void {
    if (this.#hasEnded) return;
    this.#settle.reject(error);
    this.#pieces.fail(error);
    this.#finish();
  }

  #start(frame: Extract<HttpFrame, { t: "http_start" }>): void {
    if (this.#hasStarted) return;
    const bad = frame.headers.find(([name, value]) => !TOKEN.test(name) || !VALUE.test(value));
    if (bad !== undefined) {
      this.#send?.({ t: "http_gone", call: this.number });
      this.fail(badHeader(this.name, bad[0]));
      return;
    }
    this.#hasStarted = true;
    const { status } = frame;
    const headers = frame.headers.filter(([name]) => !NOT_THEIRS.has(name.toLowerCase()));
    const data = copy(frame.data);
    if (!frame.more) {
      this.#settle.resolve({ status, headers, body: data });
      this.#finish();
      return;
    }
    if (data.length > 0) this.#pieces.push(data);
    const body = this.#pieces.iterate({
      onTaken: (bytes) => this.#sendFrame({ t: "http_taken", call: this.number, bytes }),
      onLeft: () => this.#leave(new Error("the answer has no reader")),
    });
    this.#settle.resolve({ status, headers, body });
  }

  async #sendBody(body: AsyncIterable<Uint8Array> | readonly Uint8Array[]): Promise<void> {
    for await (const piece of body) {
      for (let at = 0; at < piece.length && !this.#hasEnded; ) {
        while (this.#windowBytes <= 0 && !this.#hasEnded) await this.#waitForWindow();
        const data = piece.subarray(at, at + this.#windowBytes);
        at += data.length;
        this.#windowBytes -= data.length;
        this.#sendFrame({ t: "http_body", call: this.number, data, more: true });
      }
      if (this.#hasEnded) return;
    }
    this.#sendFrame({ t: "http_body", call: this.number, data: EMPTY, more: false });
  }

  #waitForWindow(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = resolve;
    });
  }

  #sendFrame(frame: Parameters<Send>[0]): void {
    if (!this.#hasEnded) this.#send?.(frame);
  }

  /** The client has disconnected, or its request was cut off. */
  #leave(reason: unknown): void {
    this.#sendFrame({ t: "http_gone", call: this.number });
    this.fail(reason);
  }

  #end(): void {
    this.#pieces.end();
    this.#finish();
  }

  #finish(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#forget?.();
    this.#onRoom?.();
    this.#onEnd(this);
  }
}

/** A frame's data is a slice of a larger buffer that it would keep alive. */
function copy(data: Uint8Array): Uint8Array {
  return Buffer.from(data);
}

function badHeader(handler: string, name: string): HandlerFailed {
  return errorOf({
    code: "function_failed",
    status: null,
    detail: `${handler} returned no valid answer: its header ${JSON.stringify(name.slice(0, 60))} cannot be sent.`,
    hint: "A header name must be a token, and its value must be text without line breaks.",
    headers: [],
    errors: null,
    meta: { function: handler },
  });
}

function errorOf(failure: HttpFailure): HandlerFailed {
  return new HandlerFailed(failure);
}

/** Error of a request that ended because another one ended the process. */
export function interrupted(call: HandlerCall, reason: string): unknown {
  return appError("handler_interrupted", {
    detail: `The process that ran ${call.name} ended (${reason}) while it was also running other requests.`,
    hint: "The handler may or may not have finished its work. Check before you send the request again.",
    meta: { function: call.name },
  });
}
