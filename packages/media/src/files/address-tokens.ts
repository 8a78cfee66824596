import { createHmac, timingSafeEqual } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import { type MediaReference, printReference, readReference } from "@appdb/contract/media";

const MAC_BYTES = 16;
const TIME_BYTES = 4;
const MAX_TOKEN = 8_000;

/**
 * Tokens that name a file in an address: `<mac><expiry><reference>` in base64url. The mac is the first half of the
 * HMAC-SHA256 of the rest. Only the owner of the secret can make one.
 */
export class AddressTokens {
  readonly #secret: Buffer;
  readonly #expiresS: number;
  readonly #now: () => number;

  /** A token is valid for at least `expiresS` seconds. */
  constructor(secret: Buffer, expiresS: number, now: () => number = Date.now) {
    this.#secret = secret;
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
    return Buffer.concat([this.#mac(rest), rest]).toString("base64url");
  }

  /** The cell that a token names. @throws media_address_invalid */
  read(token: string): string {
    if (token.length > MAX_TOKEN) throw invalid("It is too long.");
    const bytes = Buffer.from(token, "base64url");
    const rest = bytes.subarray(MAC_BYTES);
    if (rest.length <= TIME_BYTES || !timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#mac(rest))) {
      throw invalid("It was not made by this service, or it was changed.");
    }
    if (rest.readUInt32BE(0) * 1_000 < this.#now()) throw invalid("It has expired.");
    return printReference(readReference(rest.subarray(TIME_BYTES).toString("utf8")));
  }

  #mac(rest: Buffer): Buffer {
    return createHmac("sha256", this.#secret).update(rest).digest().subarray(0, MAC_BYTES);
  }
}

function invalid(reason: string): Error {
  return appError("media_address_invalid", {
    detail: `The address of the file is not valid. ${reason}`,
    hint: "Read the row again: its response has a new address.",
  });
}
