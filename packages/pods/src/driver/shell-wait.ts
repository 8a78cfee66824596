/**
 * Shell code that waits for the child whose pid is in the variable, and stores its exit status in `$status`. A signal
 * interrupts `wait` with a status of its own. If the child ends while the signal's trap runs, only a second `wait`
 * returns the child's status. The second returns 127 when the shell has already reaped the child; the first status is
 * then the child's.
 */
export function waitForChild(variable: string): string {
  return `while wait "$${variable}"; status=$?; kill -0 "$${variable}" 2>/dev/null; do :; done
wait "$${variable}" 2>/dev/null; late=$?
[ "$late" = 127 ] || status=$late`;
}
