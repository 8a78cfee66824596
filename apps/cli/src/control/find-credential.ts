import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import { readSession, sessionsFile } from "@appdb/system/control/sessions";
import type { CliConfig } from "../config/config.ts";
import { findProject } from "../project/find-project.ts";
import { loadHomeConfig } from "./load-home-config.ts";

/** Credential of a request. */
export interface Credential {
  readonly kind: "api_key" | "session";
  /** Its source: `SERVICE_API_KEY`, or a file. */
  readonly source: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The credential for a server, by SPEC.md's precedence: `SERVICE_API_KEY`, then `api_key` in `[service]` of the
 * project's configuration, then of the home's, then the sign-in of `cli login`. Undefined without one.
 * @throws config_invalid
 */
export async function findCredential(
  deps: { readonly config: Pick<CliConfig, "home" | "api_key">; readonly cwd: string },
  url: string,
): Promise<Credential | undefined> {
  const { config, cwd } = deps;
  if (config.api_key !== undefined) return keyCredential(config.api_key, "SERVICE_API_KEY");
  const ofProject = await findProjectKey(cwd);
  if (ofProject !== undefined) return ofProject;
  const { api_key: apiKey } = await loadHomeConfig(config.home);
  if (apiKey !== undefined) return keyCredential(apiKey, join(config.home, HOME_PATHS.config));
  const session = readSession(config.home, url);
  return session === undefined ? undefined : sessionCredential(session.token, sessionsFile(config.home));
}

export function sessionCredential(token: string, source: string): Credential {
  return { kind: "session", source, headers: { authorization: `Bearer ${token}` } };
}

function keyCredential(key: string, source: string): Credential {
  // A header allows no other characters, and keys contain none.
  if (/^[\x21-\x7e]+$/.test(key)) return { kind: "api_key", source, headers: { "x-api-key": key } };
  throw appError("config_invalid", {
    detail: `The API key of ${source} is not valid: it contains spaces, line breaks or characters that keys never have.`,
    hint: "Set it to the complete key that cli key create printed, and nothing else: sk_...",
    meta: { source },
  });
}

/** The file is parsed only when it may contain a key, because parsing takes as long as a request. */
async function findProjectKey(cwd: string): Promise<Credential | undefined> {
  const project = findProject(cwd);
  if (project === undefined || !/^[^#\n]*\bapi_key\b/m.test(project.text)) return undefined;
  const { readConfig } = await import("../project/read-config.ts");
  const { api_key: apiKey } = readConfig(project);
  return apiKey === undefined ? undefined : keyCredential(apiKey, join(project.root, project.config_file));
}
