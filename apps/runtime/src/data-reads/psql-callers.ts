import { appError } from "@appdb/contract/errors";
import { PSQL_BLOCKS, PSQL_PAUSE_MINUTES } from "@appdb/contract/routes/psql";

const PAUSE_MS = PSQL_PAUSE_MINUTES * 60_000;

interface Caller {
  blocked_at: readonly number[];
  paused_until: number;
}

/** Counts how often the sessions of each caller made others wait: a caller can open one session after the other. */
export class PsqlCallers {
  readonly #callers = new Map<string, Caller>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @throws psql_paused */
  admit(name: string): void {
    this.#forget();
    const leftMs = this.#leftMs(name);
    if (leftMs > 0) throw tooManyBlocks(Math.ceil(leftMs / 1_000));
  }

  isPaused(name: string): boolean {
    return this.#leftMs(name) > 0;
  }

  /** Counts a connection that was ended because others waited for it. The caller pauses after several. */
  count(name: string): void {
    const now = this.#now();
    const known = this.#callers.get(name);
    const blockedAt = [...(known?.blocked_at ?? []).filter((at) => now - at < PAUSE_MS), now];
    this.#callers.set(name, { blocked_at: blockedAt, paused_until: known?.paused_until ?? 0 });
    if (blockedAt.length >= PSQL_BLOCKS) this.pause(name);
  }

  /** Refuses the caller's sessions for some minutes. */
  pause(name: string): void {
    const blockedAt = this.#callers.get(name)?.blocked_at ?? [];
    this.#callers.set(name, { blocked_at: blockedAt, paused_until: this.#now() + PAUSE_MS });
  }

  #leftMs(name: string): number {
    return (this.#callers.get(name)?.paused_until ?? 0) - this.#now();
  }

  #forget(): void {
    const now = this.#now();
    for (const [name, { blocked_at: blockedAt, paused_until: until }] of this.#callers) {
      if (until <= now && blockedAt.every((at) => now - at >= PAUSE_MS)) this.#callers.delete(name);
    }
  }
}

function tooManyBlocks(seconds: number): Error {
  return appError("psql_paused", {
    detail: `Your sessions of psql made others wait too often. The database opens the next one in ${seconds} seconds.`,
    hint: "Read with single statements until then: cli query",
    meta: { retry_after_s: seconds },
  });
}
