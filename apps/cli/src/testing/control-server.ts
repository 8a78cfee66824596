import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { CallAnswer } from "@appdb/contract/clients/control-client";
import { AppError, toProblem } from "@appdb/contract/errors";
import type { CheckedRoute } from "@appdb/contract/routes/api";
import { CONTROL_API } from "@appdb/contract/routes/control-api";
import { CONTROL_ROUTES, type ControlRouteName } from "@appdb/contract/routes/control-paths";
import { Parser } from "tar";

export interface Asked {
  readonly name: ControlRouteName;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: bodies were checked by the route's schema
  readonly body: any;
  readonly headers: IncomingMessage["headers"];
}

/** The server's answers in a test. A thrown AppError becomes a problem response; an iterator becomes JSON lines. */
export type Answers = {
  readonly [Name in ControlRouteName]?: (
    asked: Asked,
  ) => CallAnswer<Name> | Promise<CallAnswer<Name>> | AsyncIterable<object>;
};

export interface ControlServer extends AsyncDisposable {
  readonly url: string;
  /** All requests in order. */
  readonly asked: readonly Asked[];
  /** Bodies of requests below /v1/auth, in order. */
  readonly auth: readonly { readonly path: string; readonly body: Record<string, unknown> }[];
}

export interface ControlServerInput {
  readonly answers?: Answers;
  /** Answers of `POST /v1/auth/<path>` by RFC 8628. */
  readonly device?: (path: string, body: Record<string, unknown>) => { status: number; body: object };
  /** Handles the response itself when it returns true. */
  readonly raw?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

/** A real HTTP server that accepts and returns only what the contract's schemas allow. */
export async function startControlServer(input: ControlServerInput): Promise<ControlServer> {
  const asked: Asked[] = [];
  const auth: { path: string; body: Record<string, unknown> }[] = [];
  const server = createServer(async (request, response) => {
    if (input.raw?.(request, response) === true) return;
    const url = new URL(request.url ?? "/", "http://localhost");
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      // the command disconnected
      return;
    }
    const bytes = Buffer.concat(chunks);
    const text = bytes.toString();
    const send = (status: number, body: unknown) =>
      response
        .writeHead(status, { "content-type": "application/json" })
        .end(body === undefined ? "" : JSON.stringify(body));
    if (url.pathname.startsWith("/v1/auth/") && input.device !== undefined) {
      const path = url.pathname.slice("/v1/auth/".length);
      const body = JSON.parse(text);
      auth.push({ path, body });
      const answer = input.device(path, body);
      send(answer.status, answer.body);
      return;
    }
    try {
      const found = findRoute(request.method ?? "", url.pathname);
      const bodies: CheckedRoute = CONTROL_API[found.name];
      const given = {
        ...found,
        query: Object.fromEntries(url.searchParams),
        body:
          found.name === "blobUpload"
            ? await readTar(bytes)
            : bodies.body?.parse(text === "" ? undefined : JSON.parse(text)),
        headers: request.headers,
      };
      asked.push(given);
      const answer = input.answers?.[found.name];
      if (answer === undefined) throw new Error(`The test did not expect ${found.name}.`);
      const value: unknown = await answer(given);
      if (isIterable(value)) {
        response.writeHead(200, { "content-type": "application/x-ndjson" }).flushHeaders();
        for await (const line of value) response.write(`${JSON.stringify(line)}\n`);
        response.end();
        return;
      }
      send(bodies.status ?? 200, bodies.answer?.parse(value));
    } catch (error) {
      if (error === HANG_UP || response.headersSent) {
        // sends earlier output first
        if (response.headersSent) response.write("\n", () => response.destroy());
        else response.destroy();
        return;
      }
      const problem = toProblem(error);
      send(problem.status, error instanceof AppError ? problem : { ...problem, detail: String(error) });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the system gave no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    auth,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Thrown by an answer to break the connection instead. */
export const HANG_UP = new Error("the server hangs up");

/** Names and texts of an archive's entries. */
async function readTar(bytes: Buffer): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const parser = new Parser({
    strict: true,
    onReadEntry: (entry) => {
      const parts: Buffer[] = [];
      entry.on("data", (part) => parts.push(part));
      entry.on("end", () => files.set(entry.path, Buffer.concat(parts)));
    },
  });
  const ended = new Promise((resolve, reject) => parser.on("end", resolve).on("error", reject));
  parser.end(bytes);
  await ended;
  return files;
}

function isIterable(value: unknown): value is AsyncIterable<object> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function findRoute(method: string, path: string): Pick<Asked, "name" | "params"> {
  for (const [name, route] of Object.entries(CONTROL_ROUTES)) {
    const pattern = new RegExp(`^${route.path.replaceAll(/:([a-z]+)/g, "(?<$1>[^/]+)")}$`);
    const match = route.method === method ? pattern.exec(path) : null;
    if (match === null) continue;
    const params = Object.entries(match.groups ?? {}).map(([key, value]) => [key, decodeURIComponent(value)]);
    return { name: name as ControlRouteName, params: Object.fromEntries(params) };
  }
  throw new Error(`There is no route ${method} ${path}.`);
}
