import { AppError, toProblem } from "@appdb/contract/errors";
import type { QueryAnswer } from "../queries/final-answer.ts";
import type { QueryRunner } from "../queries/query-runner.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import { changeEvent, event, type LiveState, resultEvent, stateOf } from "./live-state.ts";
import type { LiveStream } from "./live-stream.ts";

interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

/** A query with arguments that somebody watches: its answer as it is, and who reads it. */
export class LiveQuery {
  readonly key: string;
  readonly runner: QueryRunner;
  readonly args: QueryArguments;
  readonly streams = new Set<LiveStream>();
  state: LiveState | undefined;
  is_running = false;
  /** Requests that wait for their first answer. */
  openers = 0;
  /** Aborts when nobody is left. */
  readonly gone = new AbortController();
  #previous: LiveState | undefined;
  /** From the previous answer to the one that is: nearly all readers are there. */
  #change: string | undefined;
  #waiting: Waiter[] = [];

  constructor(key: string, runner: QueryRunner, args: QueryArguments) {
    this.key = key;
    this.runner = runner;
    this.args = args;
  }

  get is_wanted(): boolean {
    return this.streams.size > 0 || this.openers > 0;
  }

  /** Resolves when a run that has not begun yet is through. @throws what the run throws */
  nextRun(): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Those who wait for the run that begins now. */
  takeWaiting(): readonly Waiter[] {
    return this.#waiting.splice(0);
  }

  /** Takes a new answer; gives by how many bytes it is larger than the one before. */
  update(answer: QueryAnswer): number {
    const state = stateOf(answer);
    const former = this.state;
    if (former?.id === state.id) return 0;
    this.#previous = former;
    this.#change = undefined;
    this.state = state;
    for (const stream of this.streams) {
      // Whoever is further behind gets the whole answer: no more than two are kept.
      if (stream.sent !== former) stream.sent = undefined;
      stream.wake();
    }
    return state.bytes - (former?.bytes ?? 0);
  }

  /** The event that brings somebody from the answer that they were sent to the one that is; undefined when they have it. */
  eventFor(sent: LiveState | undefined): string | undefined {
    const { state } = this;
    if (state === undefined || sent === state) return undefined;
    if (sent === undefined || sent !== this.#previous) return resultEvent(state);
    this.#change ??= changeEvent(sent, state);
    return this.#change;
  }

  /** Tells everybody why there will be no more, and ends their streams. */
  fail(error: unknown): void {
    const text = event("problem", undefined, JSON.stringify(toProblem(error)));
    for (const stream of this.streams) stream.end(text);
  }
}

/** Whether a run may succeed when it is made again, with nothing changed by the reader or the application. */
export function isPassing(error: unknown): boolean {
  return error instanceof AppError && error.status >= 500;
}
