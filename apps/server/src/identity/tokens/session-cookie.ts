import { createHmac, timingSafeEqual } from "node:crypto";
import { DASHBOARD_COOKIES } from "@appdb/http/dashboard-cookies";
import type { Secret } from "@appdb/system/secret";

/** better-auth's session cookie: `<token>.<HMAC-SHA256 of the token, base64>`, percent-encoded. */
export interface SessionCookie {
  readonly name: string;
  /** The token of a Cookie header. Undefined if the cookie is missing or forged. */
  read(header: string | undefined): string | undefined;
  /** A Set-Cookie header. `maxAgeS` 0 deletes the cookie. */
  write(token: string, maxAgeS: number): string;
}

/**
 * Prefix of cookie names. Over https, browsers accept a `__Host-` cookie only from this exact host, so a page of a
 * sibling domain cannot set one.
 */
export function cookiePrefix(isSecure: boolean): string {
  return isSecure ? `__Host-${DASHBOARD_COOKIES}` : DASHBOARD_COOKIES;
}

/** `secure`: whether the server is reached over https. The cookie then requires https. */
export function createSessionCookie(secret: Secret, secure: () => boolean): SessionCookie {
  const sign = (token: string) => createHmac("sha256", secret.reveal()).update(token).digest("base64");
  const name = () => `${cookiePrefix(secure())}.session_token`;
  return {
    get name() {
      return name();
    },
    read(header) {
      const value = findCookie(header, name());
      const dot = value?.lastIndexOf(".") ?? -1;
      if (value === undefined || dot < 1) return undefined;
      const token = value.slice(0, dot);
      const [received, expected] = [Buffer.from(value.slice(dot + 1)), Buffer.from(sign(token))];
      return received.length === expected.length && timingSafeEqual(received, expected) ? token : undefined;
    },
    write(token, maxAgeS) {
      const value = token === "" ? "" : encodeURIComponent(`${token}.${sign(token)}`);
      return `${name()}=${value}; Max-Age=${maxAgeS}; Path=/; HttpOnly; SameSite=Lax${secure() ? "; Secure" : ""}`;
    },
  };
}

/** The value of a cookie in a Cookie header. */
export function findCookie(header: string | undefined, name: string): string | undefined {
  for (const part of (header ?? "").split(";")) {
    const equals = part.indexOf("=");
    if (equals < 0 || part.slice(0, equals).trim() !== name) continue;
    try {
      return decodeURIComponent(part.slice(equals + 1).trim());
    } catch {
      // our values never contain a stray %
      return undefined;
    }
  }
  return undefined;
}
