import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Secret } from "@appdb/system/secret";
import { cookiePrefix, findCookie } from "../tokens/session-cookie.ts";

const ID_BYTES = 12;
const YEAR_S = 365 * 24 * 3600;

/**
 * The cookie of a browser that has signed in to an account before. Its attempts are counted separately, so that
 * attackers who guess passwords cannot lock the person out. It does not sign in.
 */
export interface KnownDevice {
  /** The browser's id. Undefined unless it has signed in to this account before. */
  read(header: string | undefined, email: string): string | undefined;
  /** A Set-Cookie header for a browser that has signed in. */
  write(email: string): string;
}

export function createKnownDevice(secret: Secret, secure: () => boolean): KnownDevice {
  const name = () => `${cookiePrefix(secure())}.known_device`;
  const sign = (id: string, email: string) =>
    createHmac("sha256", secret.reveal())
      .update(`known device ${id} ${email.trim().toLowerCase()}`)
      .digest("base64url");
  return {
    read(header, email) {
      const [id = "", signature = ""] = (findCookie(header, name()) ?? "").split(".");
      const [received, expected] = [Buffer.from(signature), Buffer.from(sign(id, email))];
      return received.length === expected.length && timingSafeEqual(received, expected) ? id : undefined;
    },
    write(email) {
      const id = randomBytes(ID_BYTES).toString("base64url");
      const attributes = `Max-Age=${YEAR_S}; Path=/; HttpOnly; SameSite=Lax${secure() ? "; Secure" : ""}`;
      return `${name()}=${id}.${sign(id, email)}; ${attributes}`;
    },
  };
}
