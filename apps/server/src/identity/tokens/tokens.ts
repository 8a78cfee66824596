import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;

/** The text of a link that is good once: 43 characters that nobody guesses. */
export function makeToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

/** What is stored of it. */
export function hashToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
