import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestCaller } from "@appdb/contract/worker-protocol";
import { MEDIA_PATH } from "@appdb/engine/endpoints/media-routes";
import type { Logger } from "@appdb/engine/ports";
import type { CompiledRoute, RouteAddress } from "@appdb/engine/routes/route";
import { networkOf } from "@appdb/system/network/network-of";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { BodyStream } from "./body-stream.ts";
import type { Connections } from "./connections.ts";
import { noWebSockets } from "./http-errors.ts";
import { type Sending, sendAnswer } from "./send-answer.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Content types that the compiled route streams. */
    streams?: readonly string[];
    takes_any_body?: boolean;
    /** Whether the route needs no key where others do. */
    is_open?: boolean;
    /** Whether the token in its path is the right to its answer. */
    is_signed?: boolean;
  }
  interface FastifyRequest {
    /** The key of the request, if it has one. */
    caller?: RequestCaller | undefined;
    /** Its large body in memory, among others. */
    whole_body?: Disposable | undefined;
  }
}

export interface Carrier {
  readonly connections: Connections;
  readonly log: Logger;
  /** Path of the route's service: empty, or `/<service>`. */
  readonly mount: string;
  /** Public path of this server's root. A proxy in front reports the rest of the client's address (`x-forwarded-*`). */
  readonly prefix: string;
}

const ALL_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Passes requests to a compiled route and sends its answers. */
export function addRoute(server: FastifyInstance, carrier: Carrier, route: CompiledRoute): void {
  const { connections } = carrier;
  server.route({
    method: route.method === "ANY" ? ALL_METHODS : route.method,
    url: carrier.mount + routerPath(route.path),
    config: {
      streams: route.streams ?? [],
      takes_any_body: route.takes_any_body ?? false,
      is_signed: route.path.startsWith(`${MEDIA_PATH}/`),
    },
    ...(route.method === "GET" || route.method === "ANY" ? { onRequest: refuseWebSocket } : {}),
    handler: (request, reply) => {
      // The answer is complete when it arrives. Sending it through Fastify would cost a third of the request.
      reply.hijack();
      if (isStreamed(request)) {
        void carryStream(carrier, route, request, reply.raw);
        return;
      }
      const { body, id, raw, headers } = request;
      const search = searchOf(request.url);
      const signal = route.takes_signal ? connections.signalOf(raw) : undefined;
      const whole = typeof body === "string" || body instanceof Uint8Array ? body : "";
      const needsPlace = route.takes_any_body === true || route.takes_address === true;
      const place = needsPlace ? placeOf(carrier, request) : undefined;
      const { caller } = request;
      const sender = caller === undefined ? senderOf(carrier, request) : undefined;
      const answer = route.handle({ body: whole, search, headers, id, signal, route: place, caller, sender });
      // The handler never rejects.
      void answer.then((done) => {
        releaseBody(request);
        return sendAnswer(sendingOf(carrier, route, id, raw, reply.raw), done);
      });
    },
  });
}

/** Whether the route of a request streams its content type. */
export function isStreamed(request: FastifyRequest): boolean {
  const { streams } = request.routeOptions.config;
  if (streams === undefined || streams.length === 0) return false;
  const type = request.headers["content-type"];
  if (streams[0] === "*") return true;
  // Nearly every request has this type, and no route streams it.
  return type !== undefined && type !== "application/json" && streams.includes(mediaType(type));
}

/**
 * A WebSocket request is a GET (RFC 6455, 4.1). Other upgrade protocols are only offers, so those requests are answered
 * normally.
 */
export function refuseWebSocket(request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void {
  const { upgrade } = request.headers;
  done(upgrade === undefined || upgrade.toLowerCase() !== "websocket" ? undefined : noWebSockets());
}

/** A client may read the answer slowly. */
function releaseBody(request: FastifyRequest): void {
  if (request.whole_body === undefined) return;
  request.body = undefined;
  request.whole_body[Symbol.dispose]();
}

async function carryStream(
  carrier: Carrier,
  route: CompiledRoute,
  request: FastifyRequest,
  response: ServerResponse,
): Promise<void> {
  const { id, raw } = request;
  const signal = carrier.connections.signalOf(raw);
  const stream = new BodyStream(raw, signal);
  const answer = await route.handle({
    body: "",
    stream,
    packedBytes: () => stream.packedBytes(),
    search: searchOf(request.url),
    headers: request.headers,
    id,
    signal,
    route: placeOf(carrier, request),
    caller: request.caller,
    sender: senderOf(carrier, request),
  });
  // A streamed answer may read the body while it is sent.
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

/** Converts a route's path to Fastify's syntax: `/items/:item_id`. */
function routerPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

function placeOf(carrier: Carrier, request: FastifyRequest): RouteAddress {
  const { mount, prefix } = carrier;
  const { method, url, params } = request;
  const path = url.split("?", 1)[0] ?? url;
  return {
    method,
    scheme: prefix !== "" && request.headers["x-forwarded-proto"] === "https" ? "https" : "http",
    host: hostOf(request, prefix !== ""),
    path: path.slice(mount.length) || "/",
    root_path: prefix + mount,
    // Fastify has decoded them.
    params: params as Record<string, string>,
    client: clientOf(carrier, request),
  };
}

/** The network of a client without a key. */
function senderOf(carrier: Carrier, request: FastifyRequest): string | undefined {
  const [address] = clientOf(carrier, request) ?? [];
  return address === undefined ? undefined : networkOf(address);
}

function hostOf({ headers }: FastifyRequest, isForwarded: boolean): string {
  const host = (isForwarded ? headers["x-forwarded-host"] : undefined) ?? headers.host ?? "";
  return typeof host === "string" ? plainHost(host) : "";
}

/** The host that the client named; empty for other text, which cannot become part of an address. */
export function plainHost(host: string): string {
  return HOST.test(host) ? host : "";
}

const HOST = /^[A-Za-z0-9._-]+(?::\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](?::\d{1,5})?$/;

/** Address of the client, from the connection, or from the gateway in front of a hosted service. */
function clientOf({ prefix }: Carrier, { headers, raw }: FastifyRequest): RouteAddress["client"] {
  const forwarded = prefix === "" ? undefined : headers["x-forwarded-for"];
  if (typeof forwarded === "string" && forwarded !== "") return [forwarded, 0];
  const { remoteAddress, remotePort } = raw.socket;
  return remoteAddress === undefined ? null : [remoteAddress, remotePort ?? 0];
}

function searchOf(url: string): string {
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark + 1);
}
