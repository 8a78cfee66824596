import { randomBytes, randomInt } from "node:crypto";
import { writeKeyText } from "@appdb/contract/control/key-text";
import { hashKey } from "@appdb/system/keys/key-hash";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
const ID_CHARACTERS = 12;
const SECRET_BYTES = 32;

export interface MadeKey {
  /** Shown once, never stored. */
  readonly text: string;
  readonly hash: Buffer;
}

export function makeKeyId(): string {
  return Array.from({ length: ID_CHARACTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
}

/** Makes the text of a key, with a new secret. */
export function makeKeyText(id: string): MadeKey {
  const text = writeKeyText({ id, secret: randomBytes(SECRET_BYTES).toString("base64url") });
  return { text, hash: Buffer.from(hashKey(text), "hex") };
}
