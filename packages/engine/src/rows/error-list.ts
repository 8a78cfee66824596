import type { FieldError } from "@appdb/contract/errors";

/** Maximum number of wrong values in one error response. */
export const MAX_REPORTED_ERRORS = 20;
/** A name or value in a request can be as long as its body. */
const MAX_CHARACTERS = 1_000;

/** The invalid values of a request: the first ones, shortened, and whether there are more. */
export class ErrorList {
  readonly reported: FieldError[] = [];
  hasMore = false;

  /** Adds an error if there is room for it. */
  add({ pointer, detail }: FieldError): void {
    if (this.reported.length < MAX_REPORTED_ERRORS) {
      this.reported.push({ pointer: shorten(pointer), detail: shorten(detail) });
    } else {
      this.hasMore = true;
    }
  }

  /** One sentence about all errors. `what` is the plural noun for the values. */
  sentence(what: string): string {
    const { reported, hasMore } = this;
    const [first] = reported;
    if (reported.length === 1 && first !== undefined) return `${first.pointer.slice(1) || "The body"}: ${first.detail}`;
    if (hasMore) {
      return `More than ${MAX_REPORTED_ERRORS} ${what} are invalid; \`errors\` lists the first ${MAX_REPORTED_ERRORS}.`;
    }
    return `${reported.length} ${what} are invalid; \`errors\` lists each.`;
  }
}

function shorten(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS - 3)}...`;
}
