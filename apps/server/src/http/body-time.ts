import { appError, toProblem } from "@appdb/contract/errors";
import { controlRoute } from "@appdb/contract/routes/control-paths";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** How long a body may take to come; one that is read piece by piece may take any time, as long as no piece does. */
const BODY_TIME_MS = 30_000;

/**
 * Ends requests whose bodies do not come. Node's own limit is one for all requests of a server, and an upload over a slow
 * connection is in order for as long as it goes on.
 */
export function addBodyTime(app: FastifyInstance, timeMs = BODY_TIME_MS): void {
  app.addHook("onRequest", async (request, reply) => {
    const { raw } = request;
    if (raw.headers["content-length"] === undefined && raw.headers["transfer-encoding"] === undefined) return;
    const { control } = request.routeOptions.config;
    const streams = control !== undefined && controlRoute(control).streams !== undefined;
    let seen = 0;
    const timer = setInterval(() => {
      if (raw.complete) return clearInterval(timer);
      // what has come and was not taken yet is not the sender's delay
      const goesOn = raw.readableLength > 0 || raw.socket.bytesRead !== seen;
      seen = raw.socket.bytesRead;
      if (!streams || !goesOn) end(request, reply);
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
        detail: "The body of the request did not come in time.",
        hint: "Send it again; what was stored before stays.",
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
