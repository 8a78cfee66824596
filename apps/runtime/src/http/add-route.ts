import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "@appdb/engine/ports";
import type { CompiledRoute, RouteAddress } from "@appdb/engine/routes/route";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { BodyStream } from "./body-stream.ts";
import type { Connections } from "./connections.ts";
import { noWebSockets } from "./http-errors.ts";
import { type Sending, sendAnswer } from "./send-answer.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** As a compiled route says it. */
    streams?: readonly string[];
    takes_any_body?: boolean;
    /** Answers whoever asks, where others are asked for a key. */
    is_open?: boolean;
  }
  interface FastifyRequest {
    /** Whose request it is, where that is known. */
    caller?: string | undefined;
  }
}

export interface Carrier {
  readonly connections: Connections;
  readonly log: Logger;
  /** Where the route's service lies: empty, or `/<service>`. */
  readonly mount: string;
  /** Where the outside finds the root of this server; whoever stands before it says the rest of who asks (`x-forwarded-*`). */
  readonly prefix: string;
}

const ALL_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Lets requests for a compiled route through to it, and its answers back. */
export function addRoute(server: FastifyInstance, carrier: Carrier, route: CompiledRoute): void {
  const { connections } = carrier;
  server.route({
    method: route.method === "ANY" ? ALL_METHODS : route.method,
    url: carrier.mount + routerPath(route.path),
    config: { streams: route.streams ?? [], takes_any_body: route.takes_any_body ?? false },
    ...(route.method === "GET" || route.method === "ANY" ? { onRequest: refuseWebSocket } : {}),
    handler: (request, reply) => {
      // The answer is complete when it comes: Fastify's own way of sending it would cost a third of the request.
      reply.hijack();
      if (isStreamed(request)) {
        void carryStream(carrier, route, request, reply.raw);
        return;
      }
      const { body, id, raw, headers } = request;
      const search = searchOf(request.url);
      const signal = route.takes_signal ? connections.signalOf(raw.socket) : undefined;
      const whole = typeof body === "string" || body instanceof Uint8Array ? body : "";
      const place = route.takes_any_body ? placeOf(carrier, request) : undefined;
      const answer = route.handle({ body: whole, search, headers, id, signal, place, caller: request.caller });
      // The handler never rejects.
      void answer.then((done) => sendAnswer(sendingOf(carrier, route, id, raw, reply.raw), done));
    },
  });
}

/** True when the route of a request takes its content type as a stream. */
export function isStreamed(request: FastifyRequest): boolean {
  const { streams } = request.routeOptions.config;
  if (streams === undefined || streams.length === 0) return false;
  const type = request.headers["content-type"];
  if (streams[0] === "*") return true;
  // What nearly every request has, and no route streams.
  return type !== undefined && type !== "application/json" && streams.includes(mediaType(type));
}

/** Asking for a WebSocket is a GET (RFC 6455, 4.1). Any other protocol is offered, not asked for: the request is answered as it is. */
export function refuseWebSocket(request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void {
  const { upgrade } = request.headers;
  done(upgrade === undefined || upgrade.toLowerCase() !== "websocket" ? undefined : noWebSockets());
}

async function carryStream(
  carrier: Carrier,
  route: CompiledRoute,
  request: FastifyRequest,
  response: ServerResponse,
): Promise<void> {
  const { id, raw } = request;
  const signal = carrier.connections.signalOf(raw.socket);
  const stream = new BodyStream(raw, signal);
  const answer = await route.handle({
    body: "",
    stream,
    search: searchOf(request.url),
    headers: request.headers,
    id,
    signal,
    place: placeOf(carrier, request),
    caller: request.caller,
  });
  // An answer that streams may read the body while it goes out.
  if (typeof answer.body === "string" || Buffer.isBuffer(answer.body)) stream.drop();
  await sendAnswer(sendingOf(carrier, route, id, raw, response), answer);
  stream.drop();
}

function sendingOf(
  { log, connections }: Carrier,
  { cors = null }: CompiledRoute,
  id: string,
  request: IncomingMessage,
  response: ServerResponse,
): Sending {
  return { request, response, id, log, cors, draining: connections.draining };
}

function mediaType(contentType: string): string {
  return contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** A route's path as Fastify writes it: `/items/:item_id`. */
function routerPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

function placeOf({ mount, prefix }: Carrier, request: FastifyRequest): RouteAddress {
  const { method, url, params, raw } = request;
  const path = url.split("?", 1)[0] ?? url;
  return {
    method,
    scheme: prefix !== "" && request.headers["x-forwarded-proto"] === "https" ? "https" : "http",
    path: path.slice(mount.length) || "/",
    root_path: prefix + mount,
    // Fastify has decoded them.
    params: params as Record<string, string>,
    client: clientOf(raw.socket, prefix === "" ? undefined : request.headers["x-forwarded-for"]),
  };
}

/** Who asks, as the gateway before us says it, or as the connection does. */
function clientOf(
  { remoteAddress, remotePort }: Socket,
  forwarded: string | string[] | undefined,
): RouteAddress["client"] {
  if (typeof forwarded === "string" && forwarded !== "") return [forwarded, 0];
  return remoteAddress === undefined ? null : [remoteAddress, remotePort ?? 0];
}

function searchOf(url: string): string {
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark + 1);
}
