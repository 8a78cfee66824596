/** A printed API key: `sk_<id>_<secret>`. The id finds the stored hash; the secret is 32 random bytes. */
export interface KeyText {
  /** 12 characters of [a-z0-9]. */
  readonly id: string;
  /** 43 characters, base64url without padding. */
  readonly secret: string;
}

const KEY = /^sk_([a-z0-9]{12})_([A-Za-z0-9_-]{43})$/;

/** Parses a key; undefined for an invalid one. */
export function readKeyText(text: string): KeyText | undefined {
  const found = KEY.exec(text);
  const [, id, secret] = found ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** The full key, which its owner sees once. */
export function writeKeyText({ id, secret }: KeyText): string {
  return `sk_${id}_${secret}`;
}
