import { isIP } from "node:net";
import { appError } from "@appdb/contract/errors";
import { isForeignAddress } from "@appdb/system/network/public-addresses";

/**
 * Checks a webhook's address: https, no credentials, and not an address of this machine or a private network. With
 * `allowPrivate` (SERVICE_WEBHOOK_PRIVATE), any http or https address without credentials.
 * @throws webhook_refused
 */
export function checkWebhookUrl(text: string, allowPrivate: boolean, isForeign = isForeignAddress): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) throw refused(text, "is not an https address");
  if (url.username !== "" || url.password !== "")
    throw refused(`${url.protocol}//${url.host}`, "contains a user or password");
  if (allowPrivate) return url;
  if (url.protocol !== "https:") throw refused(text, "is not https");
  const host = webhookHost(url);
  if (isIP(host) !== 0 && !isForeign(host)) throw refused(text, "is an address of this machine or a private network");
  if (host === "localhost" || host.endsWith(".localhost")) throw refused(text, "is this machine");
  return url;
}

export function webhookHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

function refused(url: string, what: string): Error {
  return appError("webhook_refused", {
    detail: `Webhooks cannot be sent to ${url.slice(0, 200)}: it ${what}.`,
    hint: "Give an https address that is reachable over the internet.",
    meta: { url: url.slice(0, 200) },
  });
}
