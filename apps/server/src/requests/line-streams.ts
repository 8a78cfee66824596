import type { Logger } from "@appdb/engine/ports";
import type { FastifyReply, FastifyRequest } from "fastify";
import { beginStream, writeText } from "./raw-stream.ts";

/** Proxies end what is silent for a minute; an empty line keeps the connection open and finds the one that is gone. */
const PULSE_MS = 20_000;

export interface LineStreamDeps {
  readonly log: Logger;
  /** Whether the reader may still read; looked at again with every pulse. */
  mayStillRead(request: FastifyRequest): Promise<boolean>;
}

/**
 * Answers of one JSON document a line, which may go on for as long as somebody reads. They end with their last line; one that breaks
 * off (the server stops, or something failed) ends its connection in the middle, so that no reader takes it for the end.
 */
export class LineStreams {
  readonly #deps: LineStreamDeps;
  readonly #pulseMs: number;
  readonly #open = new Set<AbortController>();

  constructor(deps: LineStreamDeps, pulseMs = PULSE_MS) {
    this.#deps = deps;
    this.#pulseMs = pulseMs;
  }

  /** Sends the lines as they come. The signal aborts when nobody reads any more, or nobody may; what refuses a request is thrown before. */
  async serve(
    request: FastifyRequest,
    reply: FastifyReply,
    lines: (signal: AbortSignal) => AsyncIterable<object>,
  ): Promise<void> {
    const { log } = this.#deps;
    const ended = new AbortController();
    // not `connection: close`: clients take the end of such a connection for the end of the answer
    const raw = beginStream(reply, { "content-type": "application/x-ndjson", "x-accel-buffering": "no" });
    raw.once("close", () => ended.abort());
    this.#open.add(ended);
    const pulse = setInterval(() => {
      this.#check(request, raw, ended).catch((error) => log.warn({ err: error }, "a reader's right was not looked at"));
    }, this.#pulseMs);
    let isWhole = false;
    try {
      for await (const line of lines(ended.signal)) {
        if (ended.signal.aborted) break;
        await writeText(raw, `${JSON.stringify(line)}\n`, ended.signal);
      }
      isWhole = !ended.signal.aborted;
    } catch (error) {
      if (!ended.signal.aborted) log.warn({ err: error, req: request.id }, "an answer of lines was cut");
    } finally {
      clearInterval(pulse);
      this.#open.delete(ended);
      if (isWhole) raw.end();
      else raw.destroy();
    }
  }

  async #check(request: FastifyRequest, raw: FastifyReply["raw"], ended: AbortController): Promise<void> {
    if (await this.#deps.mayStillRead(request)) raw.write("\n");
    else ended.abort();
  }

  /** Breaks all of them off: the server stops. */
  end(): void {
    for (const one of this.#open) one.abort();
  }
}
