import { createHmac, timingSafeEqual } from "node:crypto";
import { appError } from "@appdb/contract/errors";

const MAC_BYTES = 16;
const TIME_BYTES = 4;
const MAX_TOKEN = 8_000;

/** What the holder of an address may do with a media store. */
export type StorePermit =
  | {
      readonly action: "get";
      readonly key: string;
      readonly type: string;
      /** For the one who saves the file. */
      readonly name: string;
    }
  | {
      readonly action: "put";
      /** Null: the store names the file by its content. */
      readonly name: string | null;
      /** Whether no file had the name. The put then replaces none, because the audit log has no entry of it. */
      readonly is_new: boolean;
      /** Of the whole file. */
      readonly bytes: number;
      /** Hex; null for any content. */
      readonly sha256: string | null;
    };

/**
 * Tokens of addresses in a media store: `<mac><expiry><permit>` in base64url. The mac is the first half of the HMAC-SHA256 of
 * the rest and of the database. The gateway and the pod of a database share the secret.
 */
export class StoreTokens {
  readonly #secret: Buffer;
  readonly #now: () => number;

  /** `database`: its id or its name, so that databases with one secret have other tokens. */
  constructor(secret: string, database: string, now: () => number = Date.now) {
    this.#secret = createHmac("sha256", secret).update(`media store of ${database}`).digest();
    this.#now = now;
  }

  make(permit: StorePermit, expiresS: number): string {
    const time = Buffer.alloc(TIME_BYTES);
    time.writeUInt32BE(Math.floor(this.#now() / 1_000) + expiresS);
    const rest = Buffer.concat([time, Buffer.from(JSON.stringify(permit))]);
    return Buffer.concat([this.#mac(rest), rest]).toString("base64url");
  }

  /** @throws media_address_invalid */
  read(token: string): StorePermit {
    if (token.length > MAX_TOKEN) throw invalid("It is too long.");
    const bytes = Buffer.from(token, "base64url");
    const rest = bytes.subarray(MAC_BYTES);
    // decoding passes over characters that are not base64url
    const isWhole = rest.length > TIME_BYTES && bytes.toString("base64url") === token;
    if (!isWhole || !timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#mac(rest))) {
      throw invalid("This store did not make it, or it was changed.");
    }
    if (rest.readUInt32BE(0) * 1_000 < this.#now()) throw invalid("It has expired.");
    return JSON.parse(rest.subarray(TIME_BYTES).toString("utf8")) as StorePermit;
  }

  #mac(rest: Buffer): Buffer {
    return createHmac("sha256", this.#secret).update(rest).digest().subarray(0, MAC_BYTES);
  }
}

function invalid(reason: string): Error {
  return appError("media_address_invalid", {
    detail: `The address of the media store is not valid. ${reason}`,
    hint: "Ask for a new address: run the command again.",
  });
}
