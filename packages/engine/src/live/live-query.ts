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

/** A watched query with its arguments, its current result and its readers. */
export class LiveQuery {
  readonly key: string;
  readonly runner: QueryRunner;
  readonly args: QueryArguments;
  readonly streams = new Set<LiveStream>();
  state: LiveState | undefined;
  is_running = false;
  /** Requests that wait for their first result. */
  openers = 0;
  /** Aborts when the last reader has left. */
  readonly stopped = new AbortController();
  #previous: LiveState | undefined;
  /** The event from the previous result to the current one. Nearly all readers need this one. */
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

  /** Resolves when a run that has not started yet has ended. @throws any error of the run */
  nextRun(): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** The waiters for the run that starts now. */
  takeWaiting(): readonly Waiter[] {
    return this.#waiting.splice(0);
  }

  /** Takes a new result. Returns its growth in bytes over the previous one. */
  update(answer: QueryAnswer): number {
    const state = stateOf(answer);
    const previous = this.state;
    if (previous?.id === state.id) return 0;
    this.#previous = previous;
    this.#change = undefined;
    this.state = state;
    for (const stream of this.streams) {
      // Readers that are further behind get the whole result: only two results are kept.
      if (stream.sent !== previous) stream.sent = undefined;
      stream.wake();
    }
    return state.bytes - (previous?.bytes ?? 0);
  }

  /** The event that updates a reader from its last result to the current one; undefined when it has that. */
  eventFor(sent: LiveState | undefined): string | undefined {
    const { state } = this;
    if (state === undefined || sent === state) return undefined;
    if (sent === undefined || sent !== this.#previous) return resultEvent(state);
    this.#change ??= changeEvent(sent, state);
    return this.#change;
  }

  /** Sends the final problem to all readers and ends their streams. */
  fail(error: unknown): void {
    const text = event("problem", undefined, JSON.stringify(toProblem(error)));
    for (const stream of this.streams) stream.end(text);
  }
}

/** Whether a retry may succeed without a change by the reader or the application. */
export function isPassing(error: unknown): boolean {
  return error instanceof AppError && error.status >= 500;
}
