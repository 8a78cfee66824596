/**
 * Shell text that waits for the child whose pid the variable holds, and leaves its exit status in `$status`. A signal interrupts `wait`
 * with a status of its own; if the child ends while the trap of that signal runs, only a second `wait` tells the child's own.
 * 127 means that the shell no longer knows the child: then the first one told it.
 */
export function waitForChild(variable: string): string {
  return `while wait "$${variable}"; status=$?; kill -0 "$${variable}" 2>/dev/null; do :; done
wait "$${variable}" 2>/dev/null; late=$?
[ "$late" = 127 ] || status=$late`;
}
