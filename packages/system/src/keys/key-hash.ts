import { hash, timingSafeEqual } from "node:crypto";

const HEX_CHARACTERS = 64;

/** SHA-256 of a key's whole text, in hexadecimal: Node gives it out three times as fast as bytes. */
export function hashKey(text: string): string {
  return hash("sha256", text, "hex");
}

/** A hash as the comparison wants it. */
export function toHashBytes(hex: string): Buffer {
  return Buffer.from(hex, "latin1");
}

/** Compares hashes in a time that tells nothing about where they differ. */
export function createHashCompare(): (hex: string, stored: Buffer) => boolean {
  const shown = Buffer.alloc(HEX_CHARACTERS);
  return (hex, stored) => {
    shown.write(hex, "latin1");
    return stored.length === HEX_CHARACTERS && timingSafeEqual(shown, stored);
  };
}
