import { url as inspectorUrl } from "node:inspector";
import { Worker } from "node:worker_threads";

/** Nothing honest keeps the server's one thread for so long; whoever runs it starts another one. */
const MOST_SILENT_S = 60;
const BEAT_MS = 1_000;

/**
 * A thread that ends the process when the main thread has not moved the number for so many looks. Each look waits its time, so a process that
 * was stopped, or a machine that slept, counts as one look.
 */
const WATCHER = `
const { workerData: { beats, look_ms, most } } = require("node:worker_threads");
let seen = -1;
let silent = 0;
setInterval(() => {
  const now = Atomics.load(beats, 0);
  silent = now === seen ? silent + 1 : 0;
  seen = now;
  if (silent < most) return;
  const line = { level: "fatal", time: new Date().toISOString(), silent_ms: silent * look_ms, msg: "the server hung and ends" };
  require("node:fs").writeSync(2, JSON.stringify(line) + "\\n");
  process.kill(process.pid, "SIGKILL");
}, look_ms);
`;

export interface WatchLoopOptions {
  readonly beat_ms?: number;
  /** Beats in a row that may fail. */
  readonly most?: number;
}

/**
 * Ends this process when its event loop hangs: pods and gateway go on, and what keeps the server starts it again. A process that is debugged
 * is not watched: it stands still at breakpoints.
 */
export function watchLoop({ beat_ms = BEAT_MS, most = MOST_SILENT_S }: WatchLoopOptions = {}): Disposable {
  if (inspectorUrl() !== undefined) return { [Symbol.dispose]: () => undefined };
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const timer = setInterval(() => Atomics.add(beats, 0, 1), beat_ms);
  timer.unref();
  const worker = new Worker(WATCHER, {
    eval: true,
    env: {},
    execArgv: [],
    workerData: { beats, look_ms: beat_ms, most },
  });
  worker.unref();
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      void worker.terminate();
    },
  };
}
