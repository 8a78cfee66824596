import { createHmac } from "node:crypto";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { publicLookup } from "@appdb/system/network/public-addresses";
import { checkWebhookUrl } from "./addresses.ts";

const TIMEOUT_MS = 15_000;

export interface Posted {
  readonly url: string;
  readonly delivery_id: string;
  /** Time of the attempt in seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
  readonly signing_secret: string;
  readonly allow_private: boolean;
}

export type PostResult =
  | { readonly is_delivered: boolean; readonly status: number; readonly error: string | null }
  | { readonly is_delivered: false; readonly status: null; readonly error: string };

/**
 * Signs a delivery by Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over id, timestamp and body,
 * with the secret after `whsec_`.
 */
export function signDelivery(posted: Pick<Posted, "delivery_id" | "timestamp" | "body" | "signing_secret">): string {
  const key = Buffer.from(posted.signing_secret.replace(/^whsec_/, ""), "base64");
  const signed = `${posted.delivery_id}.${posted.timestamp}.${posted.body}`;
  return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
}

/** Posts once. Follows no redirect, which would bypass the address check, and does not read the answer's body. */
export async function postDelivery(posted: Posted, signal: AbortSignal): Promise<PostResult> {
  try {
    const url = checkWebhookUrl(posted.url, posted.allow_private);
    const status = await post(url, posted, signal);
    const isDelivered = status >= 200 && status < 300;
    if (isDelivered) return { is_delivered: true, status, error: null };
    const isRedirect = status >= 300 && status < 400;
    return {
      is_delivered: false,
      status,
      error: isRedirect ? "Redirects are not followed." : `It answered ${status}.`,
    };
  } catch (error) {
    return { is_delivered: false, status: null, error: describe(error) };
  }
}

function post(url: URL, posted: Posted, signal: AbortSignal): Promise<number> {
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(posted.body),
    "user-agent": "appdb-webhooks",
    "webhook-id": posted.delivery_id,
    "webhook-timestamp": String(posted.timestamp),
    "webhook-signature": signDelivery(posted),
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: "POST",
      agent: false,
      headers,
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      ...(posted.allow_private ? {} : { lookup: publicLookup }),
    });
    sent.once("error", reject);
    sent.once("response", (response) => {
      resolve(response.statusCode ?? 0);
      response.destroy();
    });
    sent.end(posted.body);
  });
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return "The address could not be reached.";
  if (error.name === "TimeoutError" || error.name === "AbortError")
    return `The receiver did not answer within ${TIMEOUT_MS / 1000} s.`;
  const code = "code" in error ? String(error.code) : "";
  if (code === "EPRIVATE" || code === "webhook_refused")
    return "The address belongs to this machine or a private network.";
  return `The address could not be reached${code === "" ? "" : ` (${code})`}.`;
}
