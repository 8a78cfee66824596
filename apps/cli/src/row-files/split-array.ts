import { type ExactJson, ExactJsonError, isObject, parseExact, printExact } from "@appdb/contract/clients/exact-json";
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
  #elements = 0;
  /** The line of a place in the text, from 1. */
  #line = 1;
  #lineAt = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** The objects that are complete with this piece, each in one line. @throws usage for another element */
  read(piece: string): string[] {
    this.#text += piece;
    const lines: string[] = [];
    for (; this.#at < this.#text.length; this.#at += 1) this.#step(lines);
    this.#lineOf(this.#start);
    this.#text = this.#text.slice(this.#start);
    this.#at -= this.#start;
    this.#lineAt = 0;
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
    const line = this.#lineOf(this.#start);
    this.#start = this.#at + 1;
    if (isLast) this.#state = "after";
    if (isLast && this.#elements === 0 && element.trim() === "") return;
    this.#elements += 1;
    lines.push(objectLine(element, this.#name, { line, row: this.#elements }));
  }

  #broken(why: string): Error {
    return notJson(this.#name, this.#lineOf(this.#at), why);
  }

  /** The line of a place that is not before that of the last call. */
  #lineOf(at: number): number {
    this.#line += linesOf(this.#text.slice(this.#lineAt, at));
    this.#lineAt = at;
    return this.#line;
  }
}

interface Place {
  /** The line at which the text begins. */
  readonly line: number;
  readonly row: number;
}

/** A JSON object in one line, with the digits of its numbers. @throws invalid_request */
export function objectLine(text: string, name: string, { line, row }: Place = { line: 1, row: 1 }): string {
  const value = parsed(text, name, line);
  if (isObject(value)) return printExact(value);
  throw appError("invalid_request", {
    detail: `Row ${row} of ${name} is not a JSON object. Nothing was inserted.`,
    hint: 'Write it like this: [{"title": "x"}]',
  });
}

function parsed(text: string, name: string, line: number): ExactJson {
  try {
    return parseExact(text);
  } catch (cause) {
    if (!(cause instanceof ExactJsonError)) throw cause;
    throw notJson(name, line + linesOf(text.slice(0, cause.at)), cause.message, cause);
  }
}

function linesOf(text: string): number {
  return text.split("\n").length - 1;
}

function notJson(name: string, line: number, reason: string, cause?: unknown): Error {
  return appError("invalid_request", {
    detail: `${name} is not JSON, at line ${line}: ${reason.replace(/\.$/, "")}. Nothing was inserted.`,
    hint: /after the JSON document/.test(reason)
      ? "Name a file with an object on each line .jsonl."
      : "Correct the file, and insert it again.",
    cause,
  });
}
