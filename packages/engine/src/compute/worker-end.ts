/** The signal with which a system ends processes when memory is short. 137 is the exit code of a shell for it. */
const KILLED = /SIGKILL|\bcode 137\b/;

/** The next step after a worker ended. `how`: text that says how, such as `signal SIGKILL` or `code 3`. */
export function workerEndHint(how: string): string {
  return KILLED.test(how)
    ? "The worker was killed, most often because memory was short. Hosted: a larger memory_mb in service.toml. Locally: more free memory. A function must not end its process itself."
    : "A function must return or raise; it must not end its process.";
}
