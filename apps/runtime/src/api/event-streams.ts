import { toProblem } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import { endOf } from "@appdb/http/mount-api";
import type { FastifyReply, FastifyRequest } from "fastify";

/** Writes one line of an NDJSON response. */
export type Emit = (line: object) => void;

/**
 * Responds with NDJSON: the lines that `work` emits, then one `done` line with its result or one `error` line. The
 * signal aborts when the client disconnects.
 */
export async function answerEvents(
  deps: { readonly log: Logger },
  request: FastifyRequest,
  reply: FastifyReply,
  work: (emit: Emit, signal: AbortSignal) => Promise<object>,
): Promise<void> {
  const aborted = endOf(reply);
  const emit: Emit = (line) => {
    if (!aborted.aborted) reply.raw.write(`${JSON.stringify(line)}\n`);
  };
  reply.hijack();
  reply.raw.writeHead(200, { ...headersOf(reply), "content-type": "application/x-ndjson" });
  // send headers immediately, so that the client knows that its request was accepted
  reply.raw.flushHeaders();
  try {
    emit({ event: "done", ...(await work(emit, aborted)) });
  } catch (error) {
    const problem = toProblem(error, request.id);
    if (problem.code === "internal_error" && !aborted.aborted) {
      deps.log.error({ err: error, req: request.id }, "a request failed");
    }
    emit({ event: "error", problem });
  } finally {
    reply.raw.end();
  }
}

/** Headers that hooks have set; a hijacked reply must send them itself. */
function headersOf(reply: FastifyReply): Record<string, string> {
  const headers = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
  return Object.fromEntries(headers.map(([name, value]) => [name, String(value)]));
}
