import type { DocsFiles } from "@appdb/http/docs-files";
import type { Strangers } from "../admission/strangers.ts";
import { type Exchange, isDisconnected } from "../exchange/exchange.ts";

/** `/ingest/docs` and the page's assets. */
const DOCS = /^\/.+?(\/docs(?:\/assets\/[a-z.-]+)?)$/;

/**
 * Answers a browser without a key with the page that asks for a key, because a typed address cannot include one. The
 * page is the same for every path and reveals no services. Undefined for other requests.
 * @throws overloaded
 */
export async function answerDocs(
  exchange: Exchange,
  files: DocsFiles,
  strangers: Strangers,
): Promise<number | undefined> {
  const { database, headers, req, res } = exchange;
  const requestHeaders = req.headers;
  if (database === undefined || requestHeaders["x-api-key"] !== undefined || requestHeaders.authorization !== undefined)
    return undefined;
  const hasBody =
    requestHeaders["transfer-encoding"] !== undefined || Number(requestHeaders["content-length"] ?? 0) > 0;
  if ((req.method !== "GET" && req.method !== "HEAD") || hasBody) return undefined;
  const path = DOCS.exec(req.url?.split("?", 1)[0] ?? "")?.[1];
  if (path === undefined || (path === "/docs" && !requestHeaders.accept?.includes("text/html"))) return undefined;
  const file = await files.read(path);
  if (file === undefined || res.headersSent || isDisconnected({ req, res })) return undefined;
  strangers.begin(exchange);
  res.writeHead(200, { ...headers, ...file.headers, vary: "accept, authorization, x-api-key" });
  // HTTP/2 requests may have a body without declaring it
  req.resume();
  res.end(req.method === "HEAD" ? undefined : file.body);
  return 200;
}
