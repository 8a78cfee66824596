import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;

/** A random one-time token for a link: 43 characters. */
export function makeToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

/** The stored form of a token. */
export function hashToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
