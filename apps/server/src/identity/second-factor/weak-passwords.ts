import { appError } from "@appdb/contract/errors";
import { COMMON_WORDS } from "./common-words.ts";

const PRODUCT = "appdb";
/** A password needs more parts than this: words, years and single characters. */
const MAX_PARTS = 4;
/** Shorter account names are ignored, because many words contain them. */
const SHORTEST_NAME = 3;
const YEAR_DIGITS = 4;
const SHORTEST_RUN = 3;
const LONGEST_REPEATED = 6;
/** Rows of the keyboard and of the alphabet. */
const ROWS = [
  "01234567890",
  "abcdefghijklmnopqrstuvwxyz",
  "qwertyuiop",
  "asdfghjkl",
  "zxcvbnm",
  "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik",
];
const RUNS = ROWS.flatMap((row) => [row, [...row].reverse().join("")]);
/** Characters that replace letters. */
const LEET: Readonly<Record<string, string>> = { "@": "a", 4: "a", 3: "e", 0: "o", $: "s", 5: "s", 7: "t", "!": "i" };

/**
 * Refuses an easily guessed password: little more than common words, names of the account or product, rows of keys,
 * years and repetitions.
 * @throws weak_password
 */
export function assertStrongPassword(password: string, email: string): void {
  const weakness = findWeakness(password, email);
  if (weakness === undefined) return;
  throw appError("weak_password", {
    detail: `The password is easy to guess: ${weakness}.`,
    hint: "Choose several unrelated words, or use a password manager.",
  });
}

/** Why a password is weak, or undefined. */
export function findWeakness(password: string, email: string): string | undefined {
  const text = password.normalize("NFKC").toLowerCase();
  const address = email.trim().toLowerCase();
  if (text.includes(address)) return "it contains the address of the account";
  if (isRepeated(text)) return "it repeats a few characters";
  const name = address.split("@")[0] ?? "";
  const words = new Set([...COMMON_WORDS, PRODUCT, ...(name.length < SHORTEST_NAME ? [] : [name])]);
  const bare = text.replaceAll(/[^\p{L}\p{N}]/gu, "");
  const forms = [text, bare].flatMap((form) =>
    [undoSubstitutions(form, "i"), undoSubstitutions(form, "l")].map((letters) => ({ form, letters })),
  );
  if (forms.every(({ form, letters }) => countParts(form, letters, words) > MAX_PARTS)) return undefined;
  return "it is little more than common words, names and rows of keys";
}

function undoSubstitutions(text: string, one: "i" | "l"): string {
  return [...text].map((character) => (character === "1" ? one : (LEET[character] ?? character))).join("");
}

function isRepeated(text: string): boolean {
  for (let length = 1; length <= LONGEST_REPEATED; length++) {
    const unit = text.slice(0, length);
    if (text.length >= 2 * length && unit.repeat(Math.ceil(text.length / length)).startsWith(text)) return true;
  }
  return false;
}

/** The minimum number of words, runs, years and single characters in the text. `letters`: the text with LEET undone. */
function countParts(text: string, letters: string, words: ReadonlySet<string>): number {
  const longest = Math.max(...[...words].map((word) => word.length), ...RUNS.map((run) => run.length));
  // least[end]: the minimum for the first `end` characters
  const min = [0];
  for (let end = 1; end <= text.length; end++) {
    let best = (min[end - 1] ?? 0) + 1;
    for (let start = Math.max(0, end - longest); start < end - 1; start++) {
      const is_part = words.has(letters.slice(start, end)) || isPart(text.slice(start, end), words);
      if (is_part) best = Math.min(best, (min[start] ?? 0) + 1);
    }
    min.push(best);
  }
  return min[text.length] ?? 0;
}

function isPart(part: string, words: ReadonlySet<string>): boolean {
  if (words.has(part)) return true;
  if (part.length <= YEAR_DIGITS && /^\d+$/.test(part)) return true;
  return part.length >= SHORTEST_RUN && (/^(.)\1+$/u.test(part) || RUNS.some((run) => run.includes(part)));
}
