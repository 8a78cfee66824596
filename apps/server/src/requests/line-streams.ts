import { AppError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import type { FastifyReply, FastifyRequest } from "fastify";
import { beginStream, writeText } from "./raw-stream.ts";

/** Proxies close connections after a minute of silence. An empty line keeps them open and detects dead ones. */
const PULSE_MS = 20_000;

export interface LineStreamDeps {
  readonly log: Logger;
  /** Whether the reader may still read. Checked again with every pulse. */
  mayStillRead(request: FastifyRequest): Promise<boolean>;
}

/** Why a stream ends before its lines do. */
export type StreamEnd = "revoked" | "server_stopped";

/**
 * Answers with one JSON document per line, of any duration. A complete answer ends normally. An interrupted one (the
 * server stops, or an error) closes the connection early, so that readers detect it.
 */
export class LineStreams {
  readonly #deps: LineStreamDeps;
  readonly #pulseMs: number;
  readonly #open = new Set<AbortController>();

  constructor(deps: LineStreamDeps, pulseMs = PULSE_MS) {
    this.#deps = deps;
    this.#pulseMs = pulseMs;
  }

  /**
   * Sends lines until their end. Aborts when the reader leaves or loses the permission. Throws a refusal first. `last`
   * makes the line that says why the stream ends early.
   */
  async serve(
    request: FastifyRequest,
    reply: FastifyReply,
    lines: (signal: AbortSignal) => AsyncIterable<object>,
    last?: (why: StreamEnd) => object,
  ): Promise<void> {
    const { log } = this.#deps;
    const ended = new AbortController();
    // without `connection: close`: clients treat the end of such a connection as the end of the answer
    const raw = beginStream(reply, { "content-type": "application/x-ndjson", "x-accel-buffering": "no" });
    raw.once("close", () => ended.abort());
    this.#open.add(ended);
    const pulse = setInterval(() => {
      this.#check(request, raw, ended).catch((error) =>
        log.warn({ err: error }, "could not check a reader's permission"),
      );
    }, this.#pulseMs);
    let isWhole = false;
    try {
      for await (const line of lines(ended.signal)) {
        if (ended.signal.aborted) break;
        await writeText(raw, `${JSON.stringify(line)}\n`, ended.signal);
      }
      isWhole = !ended.signal.aborted;
    } catch (error) {
      if (!ended.signal.aborted) logInterruption(log, error, request.id);
    } finally {
      clearInterval(pulse);
      this.#open.delete(ended);
      if (isWhole) raw.end();
      else if (last !== undefined && raw.writable && isEnd(ended.signal.reason))
        raw.end(`${JSON.stringify(last(ended.signal.reason))}\n`);
      else raw.destroy();
    }
  }

  async #check(request: FastifyRequest, raw: FastifyReply["raw"], ended: AbortController): Promise<void> {
    if (await this.#deps.mayStillRead(request)) raw.write("\n");
    else ended.abort("revoked" satisfies StreamEnd);
  }

  /** Breaks off all streams when the server stops. */
  end(): void {
    for (const one of this.#open) one.abort("server_stopped" satisfies StreamEnd);
  }
}

/** A pod that is stopped or restarted ends its lines: no stack explains that. */
function logInterruption(log: Logger, error: unknown, req: string): void {
  const message = "an answer of lines was interrupted";
  if (error instanceof AppError) {
    const cause = error.cause instanceof Error ? error.cause.message : undefined;
    log.info({ req, code: error.code, detail: error.message, cause }, message);
  } else log.warn({ err: error, req }, message);
}

function isEnd(reason: unknown): reason is StreamEnd {
  return reason === "revoked" || reason === "server_stopped";
}
