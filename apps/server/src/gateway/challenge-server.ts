import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { appError } from "@appdb/contract/errors";
import { hostOf } from "./exchange/exchange.ts";
import { HTTP_OPTIONS } from "./serve-requests.ts";

const CHALLENGE = /^\/\.well-known\/acme-challenge\/([\w-]{1,200})$/;
const HTTPS_PORT = 443;

export interface ChallengeServerDeps {
  readonly host: string;
  readonly port: number;
  readonly domain: string;
  /** The port of https. */
  readonly https_port: number;
  findToken(token: string): string | undefined;
}

/**
 * Listens for plain http: serves http-01 tokens and redirects pages below the domain to https. Answers nothing else.
 * @throws port_taken
 */
export async function openChallengeServer(
  deps: ChallengeServerDeps,
): Promise<AsyncDisposable & { readonly port: number }> {
  const { host, port } = deps;
  const server = createServer({ ...HTTP_OPTIONS, keepAlive: false }, (req, res) => {
    res.setHeader("connection", "close");
    answer(deps, req, res);
  });
  try {
    server.listen({ host, port });
    await once(server, "listening");
  } catch (cause) {
    throw appError("port_taken", {
      detail: `Cannot listen on port ${port} of ${host}: it is in use, or this user is not allowed to.`,
      hint: "Set SERVICE_ACME_HTTP_PORT to another one that port 80 leads to, or unset it: certificates are ordered by the gateway's own port then.",
      meta: { host, port },
      cause,
    });
  }
  const address = server.address();
  return {
    port: address === null || typeof address === "string" ? port : address.port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function answer(deps: ChallengeServerDeps, req: IncomingMessage, res: ServerResponse): void {
  const url = req.url ?? "";
  const token = CHALLENGE.exec(url)?.[1];
  const challenge = token === undefined ? undefined : deps.findToken(token);
  if (challenge !== undefined) {
    res.writeHead(200, { "content-type": "application/octet-stream" }).end(challenge);
    return;
  }
  const host = hostOf(req).toLowerCase().replace(/:\d*$/, "");
  const isPage = req.method === "GET" || req.method === "HEAD";
  // any single label below the domain, whether the host exists or not
  const isOwnHost = host.endsWith(`.${deps.domain}`) && /^[a-z0-9-]+$/.test(host.slice(0, -deps.domain.length - 1));
  if (!isPage || !isOwnHost || token !== undefined || !url.startsWith("/")) {
    res.writeHead(404).end();
    return;
  }
  const port = deps.https_port === HTTPS_PORT ? "" : `:${deps.https_port}`;
  res.writeHead(308, { location: `https://${host}${port}${url}` }).end();
}
