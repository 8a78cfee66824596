import type { FastifyReply } from "fastify";

/** Aborts when whoever asked is gone before the answer has ended. */
export function endOf(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  return gone.signal;
}
