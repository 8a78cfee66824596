import { existsSync } from "node:fs";

/** A program with its arguments. */
export interface ServerCommand {
  readonly program: string;
  readonly args: string[];
}

/** The id of `nobody`; only its not being 0 matters. */
const UNPRIVILEGED_UID = 65534;

/**
 * How a program of PostgreSQL is started. It refuses to run as root, so under root it gets a user namespace in which
 * we are somebody else; files stay root's, and `unshare` execs, so the pid is the server's own. Other systems have no such thing:
 * there PostgreSQL itself refuses root.
 */
export function asServerUser(
  program: string,
  args: string[],
  platform: NodeJS.Platform = process.platform,
): ServerCommand {
  if (platform !== "linux" || process.getuid?.() !== 0) return { program, args };
  return { program: "unshare", args: ["--user", `--map-user=${UNPRIVILEGED_UID}`, "--", program, ...args] };
}

/** Part of util-linux, which Debian and its kin always have. */
const SETPRIV = ["/usr/bin/setpriv", "/bin/setpriv"];

/**
 * The command so that the kernel sends it `signal` when the process that starts it ends, however that ends. Where the
 * system has no such means it is the command itself: what is left then is ended at the next start (clearStaleLocks).
 */
export function boundToParent({ program, args }: ServerCommand, signal: "INT" | "KILL"): ServerCommand {
  const setpriv = process.platform === "linux" ? SETPRIV.find((path) => existsSync(path)) : undefined;
  if (setpriv === undefined) return { program, args };
  return { program: setpriv, args: ["--pdeathsig", signal, "--", program, ...args] };
}
