import { setTimeout as sleep } from "node:timers/promises";
import { AppError, appError, type Problem, toProblem } from "@appdb/contract/errors";
import { wholeText } from "../answers/answers.ts";
import { onceOf } from "../idempotency/request-store.ts";
import { createAsyncSignal } from "../jobs/async-signal.ts";
import type { Logger } from "../ports.ts";
import type { CompiledRoute } from "../routes/route.ts";
import {
  abandonBackground,
  BACKGROUND_CHANNEL,
  type BackgroundDeps,
  type BackgroundJob,
  endBackground,
  type LeaseScope,
  leaseBackground,
  releaseBackground,
  renewBackground,
} from "./background-store.ts";

/** Interval of lease renewals and of the search for jobs without a notification. */
const TICK_MS = 1_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** The usual status of web servers for a disconnected client. Here: a cancelled job. */
const ABORTED = 499;
/** Failures that a retry may pass. */
const PASSING: ReadonlySet<string> = new Set([
  "function_failed",
  "function_timeout",
  "worker_died",
  "worker_out_of_memory",
]);

export interface RunnerDeps extends BackgroundDeps {
  readonly log: Logger;
}

export interface RunnerInput extends LeaseScope {
  /** The routes without the background option, by `jobRouteKey`. */
  readonly routes: ReadonlyMap<string, CompiledRoute>;
  /** Maximum number of concurrent jobs. */
  readonly at_once: number;
}

export function jobRouteKey(service: string, route: string): string {
  return `${service}\0${route}`;
}

interface Running {
  readonly aborting: AbortController;
  is_cancelled: boolean;
  readonly done: Promise<void>;
}

/**
 * Runs the background jobs of some services until the signal aborts. It then waits `drain_ms` for running jobs and
 * returns the others to the queue. Any number of processes may do this, because a lease holds each job. When a process
 * dies and its lease expires, another process starts the job again. Its functions may then run twice, but its rows are
 * stored once.
 */
export class BackgroundRunner {
  readonly #deps: RunnerDeps;
  readonly #input: RunnerInput;
  readonly #running = new Map<string, Running>();
  readonly #bell = createAsyncSignal();

  constructor(deps: RunnerDeps, input: RunnerInput) {
    this.#deps = deps;
    this.#input = input;
  }

  async run(signal: AbortSignal, drainMs: number): Promise<void> {
    const { sql, log } = this.#deps;
    signal.addEventListener("abort", this.#bell.ring, { once: true });
    let isListening = false;
    while (!signal.aborted) {
      try {
        if (!isListening) await sql.listen(BACKGROUND_CHANNEL, this.#bell.ring, signal);
        isListening = true;
        await this.#renew();
        if (!(await this.#begin())) await this.#bell.wait(TICK_MS);
      } catch (error) {
        if (signal.aborted) break;
        log.warn({ code: toProblem(error).code, error: String(error) }, "background jobs are interrupted");
        await this.#bell.wait(TICK_MS);
      }
    }
    await this.#drain(drainMs);
  }

  /** Starts as many jobs as the limit allows. False when no job is waiting. */
  async #begin(): Promise<boolean> {
    const room = this.#input.at_once - this.#running.size;
    if (room <= 0) return false;
    for (const id of await abandonBackground(this.#deps, this.#input, problem("job_lost", LOST))) {
      this.#deps.log.error({ job: id }, "a background job was given up: its processes died");
    }
    const jobs = await leaseBackground(this.#deps, this.#input, room);
    for (const job of jobs) this.#start(job);
    return jobs.length > 0;
  }

  #start(job: BackgroundJob): void {
    const aborting = new AbortController();
    const done = this.#work(job, aborting.signal)
      .catch((error: unknown) => {
        // Its lease expires, and then a process starts it again.
        this.#deps.log.warn(
          { job: job.id, code: toProblem(error).code, err: error },
          "a background job failed without a recorded result",
        );
      })
      .finally(() => {
        this.#running.delete(job.id);
        this.#bell.ring();
      });
    this.#running.set(job.id, { aborting, done, is_cancelled: false });
  }

  async #work(job: BackgroundJob, signal: AbortSignal): Promise<void> {
    const { owner, routes } = this.#input;
    const { id, body, search, form } = job;
    const route = routes.get(jobRouteKey(job.service, job.route));
    if (route === undefined) {
      const error = problem("not_found", `The service no longer has the route ${job.route}.`);
      return endBackground(this.#deps, owner, id, { state: "failed", error });
    }
    const request = { body, search, headers: {}, id, once: onceOf("job", id, ""), signal };
    const answer = await route.handle(form === null ? request : { ...request, form });
    if (answer.status === ABORTED) {
      const isCancelled = this.#running.get(id)?.is_cancelled === true;
      if (isCancelled) return endBackground(this.#deps, owner, id, { state: "cancelled" });
      return releaseBackground(this.#deps, owner, id, { has_failed: false, pause_ms: 0 });
    }
    if (answer.status < 400) {
      return endBackground(this.#deps, owner, id, { state: "done", result: wholeText(answer) });
    }
    await this.#fail(job, JSON.parse(wholeText(answer)) as Problem);
  }

  async #fail(job: BackgroundJob, error: Problem): Promise<void> {
    const { owner } = this.#input;
    const { id, attempts, most_attempts: mostAttempts } = job;
    // PostgreSQL was unavailable, so the job itself did not fail.
    if (error.code === "database_unavailable" || error.code === "commit_unknown") {
      return releaseBackground(this.#deps, owner, id, { has_failed: false, pause_ms: FIRST_PAUSE_MS });
    }
    // A row that was stored but not exported is not stored again, so the export is not retried either.
    const isPassing = PASSING.has(error.code) || (error.status >= 500 && error.code !== "export_failed");
    if (isPassing && attempts + 1 < mostAttempts) {
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS);
      return releaseBackground(this.#deps, owner, id, { has_failed: true, pause_ms: pauseMs });
    }
    await endBackground(this.#deps, owner, id, { state: "failed", error });
  }

  async #renew(): Promise<void> {
    if (this.#running.size === 0) return;
    const leases = [...this.#running];
    const renewed = await renewBackground(
      this.#deps,
      this.#input.owner,
      leases.map(([id]) => id),
    );
    for (const [id, running] of leases) {
      const state = renewed.get(id);
      // A job that has just ended is missing too; the abort has no effect on it.
      if (state === undefined) running.aborting.abort(new AppError("job_lost", { detail: LOST }));
      else if (state.is_cancelled && !running.is_cancelled) {
        running.is_cancelled = true;
        running.aborting.abort(new AppError("job_cancelled", { detail: "The job was cancelled." }));
      }
    }
  }

  async #drain(drainMs: number): Promise<void> {
    const allDone = () => Promise.all([...this.#running.values()].map(({ done }) => done));
    const late = new AbortController();
    await Promise.race([allDone(), sleep(drainMs, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    for (const { aborting } of this.#running.values()) {
      aborting.abort(new AppError("job_lost", { detail: "The service is stopping." }));
    }
    await Promise.race([allDone(), sleep(TICK_MS, undefined, { ref: false })]);
  }
}

const LOST = "The processes that ran the job died repeatedly.";

function problem(code: "job_lost" | "not_found", detail: string): Problem {
  return toProblem(appError(code, { detail, hint: "Check the service's log: cli service logs" }));
}
