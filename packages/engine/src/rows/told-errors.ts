import type { FieldError } from "@appdb/contract/errors";

/** So many wrong values are told of one request. */
export const MOST_TOLD = 20;
/** A name or value that somebody sent may be as long as a body. */
const LONGEST = 1_000;

/** What does not fit in a request: the first values of it, each shortened, and whether there are more. */
export class ToldErrors {
  readonly told: FieldError[] = [];
  hasMore = false;

  /** Takes one more, if it is still told. */
  add({ pointer, detail }: FieldError): void {
    if (this.told.length < MOST_TOLD) this.told.push({ pointer: shorten(pointer), detail: shorten(detail) });
    else this.hasMore = true;
  }

  /** All of them in a sentence; `what` is their plural. */
  sentence(what: string): string {
    const { told, hasMore } = this;
    const [first] = told;
    if (told.length === 1 && first !== undefined) return `${first.pointer.slice(1) || "The body"}: ${first.detail}`;
    if (hasMore) return `More than ${MOST_TOLD} ${what} do not fit; \`errors\` names the first ${MOST_TOLD}.`;
    return `${told.length} ${what} do not fit; \`errors\` names each.`;
  }
}

function shorten(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 3)}...`;
}
