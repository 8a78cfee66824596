import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@appdb/contract/errors";

/** A server restarts within these pauses. */
const PAUSES_S = [1, 2, 4, 8, 16] as const;

export interface RetryContext {
  readonly signal: AbortSignal;
  note(line: string): void;
}

/**
 * Returns a function that sends requests which may be repeated, again while the server restarts. Before its first
 * response, a server that is away fails at once: the address may be wrong.
 */
export function throughRestarts({ note, signal }: RetryContext, pausesS: readonly number[] = PAUSES_S) {
  let hasResponded = false;
  return async <Answer>(send: () => Promise<Answer>): Promise<Answer> => {
    for (let tries = 0; ; tries += 1) {
      try {
        const answer = await send();
        hasResponded = true;
        return answer;
      } catch (error) {
        const pauseS = pausesS[tries];
        const isAway =
          error instanceof AppError && (error.code === "server_unreachable" || error.code === "commit_unknown");
        if (!isAway || !hasResponded || pauseS === undefined || signal.aborted) throw error;
        note(`The server does not respond. The next attempt is in ${pauseS} s.`);
        await sleep(pauseS * 1_000, undefined, { signal }).catch(() => undefined);
      }
    }
  };
}
