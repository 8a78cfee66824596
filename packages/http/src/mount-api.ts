import { isCutBody } from "@appdb/contract/cut-body";
import type { CheckedRoute, ParamOf, Parsed, Schema } from "@appdb/contract/routes/api";

/** The parts of Fastify's requests and replies that a mount uses. Only apps depend on Fastify. */
interface AnyRequest {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}
interface AnyReply {
  readonly sent: boolean;
  readonly raw: { readonly headersSent: boolean };
  code(status: number): unknown;
  send(): unknown;
}

/** A request of a route with parsed parts. */
export interface Call<R extends CheckedRoute, Request, Reply> {
  readonly params: Readonly<Record<ParamOf<R["path"]>, string>>;
  readonly body: Parsed<R, "body">;
  readonly query: Parsed<R, "query">;
  readonly request: Request;
  readonly reply: Reply;
}

export interface MountOptions<Request, Reply> {
  /** Parses a part of a request. @throws the error that refuses the request */
  parse(schema: Schema, value: unknown, where: "params" | "query" | "body"): unknown;
  /** Sends the handler's result, or converts it to a document. */
  finish(route: CheckedRoute, returned: unknown, call: { readonly request: Request; readonly reply: Reply }): unknown;
}

/** A route in the form that Fastify registers. */
export interface MountedRoute<Request, Reply> {
  readonly method: CheckedRoute["method"];
  readonly url: string;
  readonly handler: (request: Request, reply: Reply) => Promise<unknown>;
}

/** Makes a route whose handler gets parsed values. A handler that already replied returns nothing. */
export function mountRoute<R extends CheckedRoute, Request extends AnyRequest, Reply extends AnyReply>(
  route: R,
  options: MountOptions<Request, Reply>,
  handler: (call: Call<R, Request, Reply>) => unknown,
): MountedRoute<Request, Reply> {
  const { method, path: url } = route;
  const parts = (["params", "body", "query"] as const).flatMap((part) => {
    const schema = route[part];
    return schema === undefined ? [] : [{ part, schema }];
  });
  return {
    method,
    url,
    handler: async (request, reply) => {
      const parsed = parts.map(({ part, schema }) => [part, options.parse(schema, request[part], part)]);
      const call = { params: request.params, request, reply, ...Object.fromEntries(parsed) };
      const returned = await handler(call as Call<R, Request, Reply>);
      // A client that leaves before the end of a streamed response has got its head.
      if (reply.sent || reply.raw.headersSent) return reply;
      if (route.status !== undefined) reply.code(route.status);
      return route.answer === undefined ? reply.send() : await options.finish(route, returned, call);
    },
  };
}

/** A signal that aborts when the client disconnects before the response ends. It is aborted if that has happened. */
export function endOf(reply: {
  readonly raw: { readonly destroyed: boolean; once(event: "close", listener: () => void): unknown };
}): AbortSignal {
  const aborted = new AbortController();
  if (reply.raw.destroyed) aborted.abort();
  else reply.raw.once("close", () => aborted.abort());
  return aborted.signal;
}

/** Whether a request failed only because its client left, or because a stop closed its connection. */
export function wasLeft(reply: { readonly raw: { readonly destroyed: boolean } }, error: unknown): boolean {
  if (!reply.raw.destroyed) return false;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === "AbortError" || isCutBody(cause)) return true;
  }
  return false;
}
