import { appError } from "@appdb/contract/errors";

/** Maximum bytes of pods' documents that the control plane holds for one organization. */
const MAX_BYTES = 128_000_000;
/** Shorter documents are not counted: requests are limited by their number. */
const COUNTED_FROM = 256_000;

/** Counts the documents of pods that are in memory for an organization, each until its request ends. */
export class AnswerMemory {
  readonly #held = new Map<string, number>();

  /**
   * Counts the bytes of a document as they arrive, until the signal aborts.
   * @throws rate_limited when the organization has too many; a single document fits
   */
  open(organization: string, signal: AbortSignal): (bytes: number) => void {
    let own = 0;
    const add = (bytes: number) => {
      own += bytes;
      const held = (this.#held.get(organization) ?? 0) + bytes;
      if (held === 0) this.#held.delete(organization);
      else this.#held.set(organization, held);
      return held;
    };
    return (total) => {
      if (total < COUNTED_FROM) return;
      if (signal.aborted) throw new Error("The request has ended.");
      if (own === 0) signal.addEventListener("abort", () => add(-own), { once: true });
      const held = add(total - own);
      if (held <= MAX_BYTES || held === own) return;
      // dropped at once, so that the others fit
      add(-own);
      throw tooMuch(held);
    };
  }
}

function tooMuch(held: number): Error {
  return appError("rate_limited", {
    detail: `The server holds ${held} bytes of answers for the organization, and the maximum is ${MAX_BYTES}.`,
    hint: "Wait a second, then try again, with fewer requests at a time.",
    meta: { retry_after_s: 1, most_answer_bytes: MAX_BYTES },
  });
}
