import type { Secret } from "@appdb/system/secret";
import { z } from "zod";

const DAY_S = 24 * 3600;

const empty = (value: unknown) => (value === "" ? undefined : value);
const count = (fallback: number, min: number, max: number) =>
  z.preprocess(empty, z.coerce.number().int().min(min).max(max).default(fallback));

/** Settings of sign-ins and sessions, by the names of their environment variables. */
export const identitySettings = {
  /** Maximum lifetime of a browser session. */
  SERVICE_SESSION_DAYS: count(30, 1, 365),
  /** Maximum lifetime of a terminal session. */
  SERVICE_CLI_SESSION_DAYS: count(90, 1, 365),
  /** How long a proof of identity is valid for dangerous actions. */
  SERVICE_CONFIRM_MINUTES: count(30, 1, 1_440),
  /** 1 allows mail to another machine without TLS. */
  SERVICE_SMTP_INSECURE: z.preprocess(empty, z.enum(["0", "1"]).default("0")),
} as const;

export interface IdentityConfig {
  readonly browser_session_s: number;
  readonly cli_session_s: number;
  readonly confirm_s: number;
}

type Found = { readonly [Name in keyof typeof identitySettings]: z.output<(typeof identitySettings)[Name]> };

export function toIdentityConfig(found: Found): IdentityConfig {
  return {
    browser_session_s: found.SERVICE_SESSION_DAYS * DAY_S,
    cli_session_s: found.SERVICE_CLI_SESSION_DAYS * DAY_S,
    confirm_s: found.SERVICE_CONFIRM_MINUTES * 60,
  };
}

/** Whether mail to this server must be encrypted. Mail to this machine, or with SERVICE_SMTP_INSECURE, need not be. */
export function needsMailTls(url: Secret, insecure: "0" | "1"): boolean {
  return insecure === "0" && !isLoopback(url.reveal());
}

/** Addresses whose traffic others on the network can read and change. The server warns about them at start. */
export function findPlainAddresses(config: {
  readonly public_url: string | undefined;
  readonly oidc: { readonly issuer: string } | undefined;
}): { readonly setting: string; readonly url: string }[] {
  const named = [
    { setting: "SERVICE_PUBLIC_URL", url: config.public_url },
    { setting: "SERVICE_OIDC_ISSUER", url: config.oidc?.issuer },
  ];
  return named.flatMap(({ setting, url }) =>
    url?.startsWith("http:") && !isLoopback(url) ? [{ setting, url: new URL(url).origin }] : [],
  );
}

function isLoopback(url: string): boolean {
  // URL does not normalize the host of smtp://
  const host = new URL(url).hostname.toLowerCase();
  return host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}
