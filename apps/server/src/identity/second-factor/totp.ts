import { createHmac, randomBytes } from "node:crypto";

/** Defaults of authenticator apps: RFC 6238 with SHA-1, six digits and steps of 30 seconds. */
const STEP_S = 30;
const DIGITS = 6;
/** Allowed clock error in steps, in both directions. */
const TOLERANCE = 1;
const SECRET_BYTES = 20;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

export function makeTotpSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** The code of a step (RFC 4226, section 5.3). */
export function totpCode(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac("sha1", secret).update(counter).digest();
  const offset = (digest[digest.length - 1] ?? 0) & 0x0f;
  const number = digest.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, "0");
}

/** The step of a code near the given time. Undefined for a wrong code. */
export function findTotpStep(secret: Buffer, code: string, nowMs: number): number | undefined {
  const now = Math.floor(nowMs / 1000 / STEP_S);
  const steps = Array.from({ length: 2 * TOLERANCE + 1 }, (_, index) => now - TOLERANCE + index);
  return steps.find((step) => totpCode(secret, step) === code);
}

/** RFC 4648 base32 without padding, for typing a secret. */
export function toBase32(bytes: Buffer): string {
  let bits = "";
  for (const byte of bytes) bits += byte.toString(2).padStart(8, "0");
  return (bits.match(/.{1,5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five.padEnd(5, "0"), 2)]).join("");
}

/** The URI in the QR code. */
export function totpUri(secret: Buffer, issuer: string, email: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(email)}`;
  return `otpauth://totp/${label}?secret=${toBase32(secret)}&issuer=${encodeURIComponent(issuer)}`;
}
