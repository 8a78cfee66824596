import type { GatewayRequest } from "./exchange.ts";

const BEARER = /^bearer +(\S+)$/i;

/** The key of a request, of which `X-api-key` comes first. Undefined without one. */
export function shownText({ headers }: GatewayRequest): string | undefined {
  const own = headers["x-api-key"];
  return own === undefined ? BEARER.exec(headers.authorization ?? "")?.[1] : String(own);
}
