import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** What the command takes from its environment. */
export interface CliConfig {
  /** Absolute; not made and not looked at yet. */
  readonly home: string;
  /** The environment of the caller, for the application's Python and for services; without our own secrets. */
  readonly application_env: Readonly<Record<string, string>>;
  /** The environment for the daemon: all of it, for its settings are SERVICE_ variables. */
  readonly daemon_env: Readonly<Record<string, string>>;
  /** True when the terminal asks for plain text: no colours, no rewriting of lines. */
  readonly plain: boolean;
}

/** Ours, and none of the application's business: whoever reads them could act as the person at the control plane. */
const SECRETS = ["SERVICE_API_KEY", "SERVICE_LOCAL_DATABASE_URL", "SERVICE_DATABASE_URL", "SERVICE_TOKEN"];

/** Reads the environment. By hand, not by a zod schema: there is no value that could be wrong, and loading zod costs the
 *  command a quarter of its start. */
export function readCliConfig(env: Readonly<Record<string, string | undefined>> = process.env): CliConfig {
  const defined = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    home: resolve(env["SERVICE_HOME"] || join(homedir(), ".service")),
    application_env: Object.fromEntries(defined.filter(([name]) => !SECRETS.includes(name))),
    daemon_env: Object.fromEntries(defined),
    plain: env["NO_COLOR"] !== undefined || env["TERM"] === "dumb",
  };
}
