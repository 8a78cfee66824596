import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** What the command takes from its environment. */
export interface CliConfig {
  /** Absolute; not made and not looked at yet. */
  readonly home: string;
  /** `SERVICE_API_KEY`; undefined when it is not set or empty. */
  readonly api_key: string | undefined;
  /** `SERVICE_API_URL` as it was typed. */
  readonly api_url: string | undefined;
  /** True when a browser that is opened comes up before the person. */
  readonly has_display: boolean;
  /** The environment of the caller, for the application's Python and for services; without our own secrets. */
  readonly application_env: Readonly<Record<string, string>>;
  /** The environment for the daemon: all of it, for its settings are SERVICE_ variables. */
  readonly daemon_env: Readonly<Record<string, string>>;
  /** True when the terminal asks for plain text: no colours, no rewriting of lines. */
  readonly plain: boolean;
}

/** Ours, and none of the application's business: whoever reads them could act as the person at the control plane. */
const SECRETS = ["SERVICE_API_KEY", "SERVICE_LOCAL_DATABASE_URL", "SERVICE_DATABASE_URL", "SERVICE_TOKEN"];

/** Windows calls it `Path`, and a copy of its environment knows the case of names. */
function nameOf(name: string, platform: NodeJS.Platform): string {
  return platform === "win32" && name.toUpperCase() === "PATH" ? "PATH" : name;
}

/** Reads the environment. By hand, not by a zod schema: there is no value that could be wrong, and loading zod costs the
 *  command a quarter of its start. */
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
