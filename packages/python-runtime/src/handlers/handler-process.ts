import type { WorkerProcess } from "../workers/worker-process.ts";
import type { HandlerCall } from "./handler-call.ts";

/** A process that answers requests, with its running requests. */
export class HandlerProcess {
  readonly process: WorkerProcess;
  readonly calls = new Map<number, HandlerCall>();
  /** Time of its last sign of life. */
  heard_at = 0;
  has_worked = false;
  /** Whether it ended because of a handler that could not be stopped; its other requests are not to blame. */
  is_blamed = false;
  onEnd: (() => void) | undefined;

  constructor(process: WorkerProcess) {
    this.process = process;
  }

  /** Sends it a request. */
  begin(call: HandlerCall, now: number): void {
    if (this.calls.size === 0) this.heard_at = now;
    this.has_worked = true;
    this.calls.set(call.number, call);
    call.home = this;
    call.begin((frame) => this.process.send(frame));
  }
}
