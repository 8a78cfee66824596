import type { RouteAnswer } from "@appdb/engine/answers/answers";
import { type CorsRule, corsHeaders } from "@appdb/http/cors";
import { REQUEST_ID_HEADER } from "@appdb/http/request-ids";
import type { FastifyReply, FastifyRequest } from "fastify";

/** Sends an answer that does not come from a route. */
export function sendReply(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: RouteAnswer,
  cors: CorsRule = null,
): void {
  reply.code(answer.status).header(REQUEST_ID_HEADER, request.id);
  for (const name in answer.headers) reply.header(name, answer.headers[name]);
  const origin = request.headers.origin;
  if (origin !== undefined) reply.headers(corsHeaders(origin, cors));
  reply.send(answer.body);
}
