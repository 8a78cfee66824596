import type { WorkerProcess } from "../workers/worker-process.ts";
import type { HandlerCall } from "./handler-call.ts";

/** A process that answers requests, with those that are under way in it. */
export class HandlerProcess {
  readonly process: WorkerProcess;
  readonly calls = new Map<number, HandlerCall>();
  /** When it last showed that it lives. */
  heard_at = 0;
  has_worked = false;
  /** A handler that could not be stopped ends it, not those that are under way. */
  is_blamed = false;
  onEnd: (() => void) | undefined;

  constructor(process: WorkerProcess) {
    this.process = process;
  }

  /** Hands it a request. */
  begin(call: HandlerCall, now: number): void {
    if (this.calls.size === 0) this.heard_at = now;
    this.has_worked = true;
    this.calls.set(call.number, call);
    call.home = this;
    call.begin((frame) => this.process.send(frame));
  }
}
