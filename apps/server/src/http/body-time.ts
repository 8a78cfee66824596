import { appError, toProblem } from "@appdb/contract/errors";
import { controlRoute } from "@appdb/contract/routes/control-paths";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** Maximum time for a body. For a body that is read in pieces, the maximum time for each piece. */
const BODY_TIME_MS = 30_000;

/**
 * Ends requests with stalled bodies. Node has one limit for all requests of a server, but an upload over a slow
 * connection may take long.
 */
export function addBodyTime(app: FastifyInstance, timeMs = BODY_TIME_MS): void {
  app.addHook("onRequest", async (request, reply) => {
    const { raw } = request;
    if (raw.headers["content-length"] === undefined && raw.headers["transfer-encoding"] === undefined) return;
    const { control } = request.routeOptions.config;
    const { answers, streams: type } = control === undefined ? {} : controlRoute(control);
    // both sides of a tunnel may be silent for long, and its handler ends it
    if (answers === "tunnel") return;
    const streams = type !== undefined;
    let seen = 0;
    let hasEnded = false;
    const timer = setInterval(() => {
      if (raw.complete) return clearInterval(timer);
      // received but unread bytes are not the sender's delay
      const isReceiving = raw.readableLength > 0 || raw.socket.bytesRead !== seen;
      seen = raw.socket.bytesRead;
      if (streams && isReceiving) return;
      // a client that does not take the end of its answer would hold the connection
      if (hasEnded) raw.socket.destroy();
      else end(request, reply);
      hasEnded = true;
    }, timeMs);
    timer.unref();
    raw.once("close", () => clearInterval(timer));
  });
}

function end(request: FastifyRequest, reply: FastifyReply): void {
  const { socket } = request.raw;
  if (!reply.raw.headersSent) {
    const problem = toProblem(
      appError("request_timeout", {
        detail: "The body of the request did not arrive in time.",
        hint: "Send it again. Parts that were stored stay.",
      }),
      request.id,
    );
    const text = JSON.stringify(problem);
    socket.write(
      `HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
  }
  socket.destroySoon();
}
