import type { Logger } from "@appdb/engine/ports";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Notifications } from "../../database/notifications.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { beginStream, writeText } from "../../requests/raw-stream.ts";
import { newestEvent, parseEventId, readEventsAfter } from "./events-store.ts";

/** Proxies close connections after a minute of silence. A comment keeps them open and detects dead ones. */
const PULSE_MS = 20_000;

export interface EventStreamDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly notifications: Notifications;
  /** Whether the reader may still read. Checked again with every pulse. */
  mayStillRead(request: FastifyRequest): Promise<boolean>;
}

/**
 * Streams of events. A stream reads the table after its last event when PostgreSQL notifies of new events. A slow
 * reader delays only its own stream, and nothing is buffered for it.
 */
export class EventStreams {
  readonly #deps: EventStreamDeps;
  readonly #open = new Set<AbortController>();

  constructor(deps: EventStreamDeps) {
    this.#deps = deps;
  }

  /** Streams the events after `last-event-id`, or only new ones. @throws invalid_cursor */
  async serve(request: FastifyRequest, reply: FastifyReply, orgId: string): Promise<void> {
    const { db, notifications } = this.#deps;
    const lastEventId = request.headers["last-event-id"];
    const resume = lastEventId === undefined ? undefined : parseEventId(String(lastEventId), "last-event-id");
    const ended = new AbortController();
    let wake = () => {};
    let isDue = true;
    const stop = await notifications.listen("control_events", (payload) => {
      if (payload !== undefined && payload !== orgId) return;
      isDue = true;
      wake();
    });
    try {
      let after = resume ?? (await newestEvent(db, orgId));
      // the connection closes with the stream, so that a server that stops does not wait for its next request
      const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no", connection: "close" };
      const raw = beginStream(reply, headers);
      this.#open.add(ended);
      raw.once("close", () => ended.abort());
      ended.signal.addEventListener("abort", () => wake());
      raw.write("retry: 1000\n\n");
      let checked = performance.now();
      while (!ended.signal.aborted) {
        if (isDue) {
          isDue = false;
          const events = await readEventsAfter(db, orgId, after);
          // a full page: there may be more events
          if (events.length > 1) isDue = true;
          for (const event of events) {
            after = event.id;
            const text = `id: ${event.id}\nevent: event\ndata: ${JSON.stringify(event)}\n\n`;
            await writeText(raw, text, ended.signal);
          }
          continue;
        }
        const pulse = setTimeout(() => wake(), PULSE_MS);
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (isDue || ended.signal.aborted) resolve();
        });
        clearTimeout(pulse);
        if (performance.now() - checked < PULSE_MS) continue;
        checked = performance.now();
        if (!(await this.#deps.mayStillRead(request))) break;
        raw.write(": \n\n");
      }
    } catch (error) {
      if (!reply.raw.headersSent) throw error;
      this.#deps.log.warn({ err: error }, "a stream of events was cut off; its reader resumes it");
    } finally {
      stop();
      this.#open.delete(ended);
      if (reply.raw.headersSent) reply.raw.end();
    }
  }

  /** Ends all streams when the server stops. Readers resume at another server. */
  end(): void {
    for (const one of this.#open) one.abort();
  }
}
