import { existsSync } from "node:fs";

/** A program with its arguments. */
export interface ServerCommand {
  readonly program: string;
  readonly args: string[];
}

/** The id of `nobody`; any id except 0 works. */
const UNPRIVILEGED_UID = 65534;

/**
 * Command that starts a PostgreSQL program. PostgreSQL refuses to run as root, so root gets a user namespace with
 * another id. Files stay root's, and `unshare` execs, so the pid is the server's. Other systems lack namespaces, and
 * PostgreSQL refuses root there.
 */
export function asServerUser(
  program: string,
  args: string[],
  platform: NodeJS.Platform = process.platform,
): ServerCommand {
  if (platform !== "linux" || process.getuid?.() !== 0) return { program, args };
  return { program: "unshare", args: ["--user", `--map-user=${UNPRIVILEGED_UID}`, "--", program, ...args] };
}

/** From util-linux, which Debian-based systems always have. */
const SETPRIV = ["/usr/bin/setpriv", "/bin/setpriv"];

/**
 * Command to which the kernel sends `signal` when the starting process ends in any way. Returns the command unchanged
 * where the system lacks this; leftovers are then ended at the next start (clearStaleLocks).
 */
export function boundToParent({ program, args }: ServerCommand, signal: "INT" | "KILL"): ServerCommand {
  const setpriv = process.platform === "linux" ? SETPRIV.find((path) => existsSync(path)) : undefined;
  if (setpriv === undefined) return { program, args };
  return { program: setpriv, args: ["--pdeathsig", signal, "--", program, ...args] };
}
