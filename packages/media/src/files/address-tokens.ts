import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import { type MediaReference, printReference, readReference } from "@appdb/contract/media";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const TIME_BYTES = 4;
const MAX_TOKEN = 8_000;

/**
 * Tokens that name a file in an address: `<nonce><tag><expiry and reference, encrypted>` in base64url. Only the owner of
 * the secret can make or read one: a reference has addresses of stores. The nonce is an HMAC of the content, so that equal
 * content has equal tokens and no nonce has two contents.
 */
export class AddressTokens {
  readonly #key: Buffer;
  readonly #nonceKey: Buffer;
  readonly #expiresS: number;
  readonly #now: () => number;

  /** A token is valid for at least `expiresS` seconds. */
  constructor(secret: Buffer, expiresS: number, now: () => number = Date.now) {
    this.#key = derive(secret, "media address key");
    this.#nonceKey = derive(secret, "media address nonce");
    this.#expiresS = expiresS;
    this.#now = now;
  }

  /** Equal files have equal tokens for a while, so that browsers find them in their cache. */
  make({ url, store, key, type, name }: MediaReference): string {
    const step = Math.max(1, Math.floor(this.#expiresS / 2));
    const expiry = (Math.floor(this.#now() / 1_000 / step) + 1) * step + this.#expiresS;
    const time = Buffer.alloc(TIME_BYTES);
    time.writeUInt32BE(expiry);
    const rest = Buffer.concat([time, Buffer.from(printReference({ url, store, key, type, name } as MediaReference))]);
    const nonce = createHmac("sha256", this.#nonceKey).update(rest).digest().subarray(0, NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce);
    const hidden = Buffer.concat([cipher.update(rest), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), hidden]).toString("base64url");
  }

  /** The cell that a token names. @throws media_address_invalid */
  read(token: string): string {
    if (token.length > MAX_TOKEN) throw invalid("It is too long.");
    const rest = this.#decrypt(Buffer.from(token, "base64url"));
    if (rest === undefined) throw invalid("It was not made by this service, or it was changed.");
    if (rest.readUInt32BE(0) * 1_000 < this.#now()) throw invalid("It has expired.");
    return printReference(readReference(rest.subarray(TIME_BYTES).toString("utf8")));
  }

  #decrypt(bytes: Buffer): Buffer | undefined {
    const start = NONCE_BYTES + TAG_BYTES;
    if (bytes.length <= start + TIME_BYTES) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, start));
    const rest = decipher.update(bytes.subarray(start));
    try {
      return Buffer.concat([rest, decipher.final()]);
    } catch {
      // the tag does not fit: final() throws a plain Error without a code
      return undefined;
    }
  }
}

function derive(secret: Buffer, use: string): Buffer {
  return createHmac("sha256", secret).update(use).digest();
}

function invalid(reason: string): Error {
  return appError("media_address_invalid", {
    detail: `The address of the file is not valid. ${reason}`,
    hint: "Read the row again: its response has a new address.",
  });
}
