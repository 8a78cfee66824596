import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Settings from the command's environment. */
export interface CliConfig {
  /** Absolute path. Not created or checked yet. */
  readonly home: string;
  /** `SERVICE_API_KEY`; undefined when it is not set or empty. */
  readonly api_key: string | undefined;
  /** `SERVICE_API_URL` as it was typed. */
  readonly api_url: string | undefined;
  /** Whether an opened browser would be visible to the user. */
  readonly has_display: boolean;
  /** Environment of the caller for the application's Python and for services, without our secrets. */
  readonly application_env: Readonly<Record<string, string>>;
  /** Complete environment for the daemon, whose settings are SERVICE_ variables. */
  readonly daemon_env: Readonly<Record<string, string>>;
  /** Whether the terminal requires plain text: no colours, no rewritten lines. */
  readonly plain: boolean;
}

/**
 * Removed from the application's environment, because code that reads them could act as the user at the control plane.
 */
const SECRETS = ["SERVICE_API_KEY", "SERVICE_LOCAL_DATABASE_URL", "SERVICE_DATABASE_URL", "SERVICE_TOKEN"];

/** Windows names it `Path`, and a copy of its environment is case-sensitive. */
function nameOf(name: string, platform: NodeJS.Platform): string {
  return platform === "win32" && name.toUpperCase() === "PATH" ? "PATH" : name;
}

/**
 * Reads the environment without zod: no value can be invalid, and loading zod takes a quarter of the command's start.
 */
export function readCliConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
  platform: NodeJS.Platform = process.platform,
): CliConfig {
  const defined = Object.entries(env)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([name, value]): [string, string] => [nameOf(name, platform), value]);
  const ownDisplay = platform === "darwin" || platform === "win32";
  return {
    api_key: env["SERVICE_API_KEY"]?.trim() || undefined,
    api_url: env["SERVICE_API_URL"]?.trim() || undefined,
    has_display: ownDisplay ? !env["SSH_CONNECTION"] : Boolean(env["DISPLAY"] || env["WAYLAND_DISPLAY"]),
    home: resolve(env["SERVICE_HOME"] || join(homedir(), ".service")),
    application_env: Object.fromEntries(defined.filter(([name]) => !SECRETS.includes(name))),
    daemon_env: Object.fromEntries(defined),
    plain: env["NO_COLOR"] !== undefined || env["TERM"] === "dumb",
  };
}
