import { createHash } from "node:crypto";

/** The text of a bundle after a comment with its SHA-256, which identifies the bundle (cli-door.cjs). */
export function withDigest(text) {
  return `// sha256 ${createHash("sha256").update(text).digest("hex")}\n${text}`;
}
