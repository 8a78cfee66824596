import { type ExactJson, isObject, parseExact, printExact } from "@appdb/contract/clients/exact-json";
import { appError } from "@appdb/contract/errors";

/** Characters of the longest element: a bracket that never closes must not fill the memory. */
const MAX_ELEMENT = 64 * 1024 * 1024;

/** Splits the text of a JSON array of objects into a line for each object, piece by piece. */
export class ArraySplitter {
  readonly #name: string;
  #text = "";
  /** Of the element being read. */
  #start = 0;
  #at = 0;
  #depth = 0;
  #isInText = false;
  #state: "before" | "elements" | "after" = "before";
  #hasElement = false;

  constructor(name: string) {
    this.#name = name;
  }

  /** The objects that are complete with this piece, each in one line. @throws usage for another element */
  read(piece: string): string[] {
    this.#text += piece;
    const lines: string[] = [];
    for (; this.#at < this.#text.length; this.#at += 1) this.#step(lines);
    this.#text = this.#text.slice(this.#start);
    this.#at -= this.#start;
    this.#start = 0;
    if (this.#text.length > MAX_ELEMENT) {
      throw this.#broken(`an element has more than ${MAX_ELEMENT} characters`);
    }
    return lines;
  }

  /** @throws usage if the array did not end */
  end(): void {
    if (this.#state !== "after") throw this.#broken("the array does not end");
  }

  #step(lines: string[]): void {
    const character = this.#text[this.#at] ?? "";
    if (this.#isInText) {
      if (character === "\\") this.#at += 1;
      else if (character === '"') this.#isInText = false;
      return;
    }
    if (this.#state !== "elements") {
      if (/\s/.test(character)) return;
      if (this.#state === "after") throw this.#broken("text follows the array");
      this.#state = "elements";
      this.#start = this.#at + 1;
      return;
    }
    if (character === '"') this.#isInText = true;
    else if (character === "{" || character === "[") this.#depth += 1;
    else if (this.#depth > 0) {
      if (character === "}" || character === "]") this.#depth -= 1;
    } else if (character === "," || character === "]") this.#take(character === "]", lines);
  }

  #take(isLast: boolean, lines: string[]): void {
    const element = this.#text.slice(this.#start, this.#at);
    this.#start = this.#at + 1;
    if (isLast) this.#state = "after";
    if (isLast && !this.#hasElement && element.trim() === "") return;
    this.#hasElement = true;
    lines.push(objectLine(element, this.#name));
  }

  #broken(why: string): Error {
    return notJson(this.#name, why);
  }
}

/** A JSON object in one line, with the digits of its numbers. @throws usage */
export function objectLine(text: string, name: string): string {
  const value = parsed(text, name);
  if (isObject(value)) return printExact(value);
  throw appError("usage", {
    detail: `${name} has no rows: expected an array of JSON objects.`,
    hint: 'Write it like this: [{"title": "x"}]',
  });
}

function parsed(text: string, name: string): ExactJson {
  try {
    return parseExact(text);
  } catch (cause) {
    throw notJson(name, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function notJson(name: string, reason: string, cause?: unknown): Error {
  return appError("usage", { detail: `${name} is not JSON: ${reason}`, hint: "Correct the file.", cause });
}
