import type { FieldError } from "@appdb/contract/errors";

/** Wrong values that the answer to one request reports. */
export const MAX_REPORTED_ERRORS = 20;
/** A name or value in a request may be as long as its body. */
const MAX_CHARACTERS = 1_000;

/** What does not fit in a request: the first values of it, each shortened, and whether there are more. */
export class ErrorList {
  readonly reported: FieldError[] = [];
  hasMore = false;

  /** Takes one more, if there is room for it. */
  add({ pointer, detail }: FieldError): void {
    if (this.reported.length < MAX_REPORTED_ERRORS) {
      this.reported.push({ pointer: shorten(pointer), detail: shorten(detail) });
    } else {
      this.hasMore = true;
    }
  }

  /** All of them in a sentence; `what` is their plural. */
  sentence(what: string): string {
    const { reported, hasMore } = this;
    const [first] = reported;
    if (reported.length === 1 && first !== undefined) return `${first.pointer.slice(1) || "The body"}: ${first.detail}`;
    if (hasMore) {
      return `More than ${MAX_REPORTED_ERRORS} ${what} do not fit; \`errors\` names the first ${MAX_REPORTED_ERRORS}.`;
    }
    return `${reported.length} ${what} do not fit; \`errors\` names each.`;
  }
}

function shorten(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS - 3)}...`;
}
