import { ValueError } from "./value-error.ts";

/** Text that a column can hold: any Unicode except NUL. */
export function parseText(text: string): string | ValueError {
  if (text.includes("\0"))
    return new ValueError("The text contains a NUL character (\\u0000), which cannot be stored.");
  if (!text.isWellFormed())
    return new ValueError("The text contains a lone surrogate, which is not a valid character.");
  return text;
}
