import { Misfit } from "./misfit.ts";

/** Text as a column can hold it: any Unicode but NUL. */
export function parseText(text: string): string | Misfit {
  if (text.includes("\0")) return new Misfit("The text contains a NUL character (\\u0000), which cannot be stored.");
  if (!text.isWellFormed())
    return new Misfit("The text contains half of a surrogate pair, which is not a valid character.");
  return text;
}
