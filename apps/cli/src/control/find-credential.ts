import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import type { CliConfig } from "../config/config.ts";
import { findProject } from "../project/find-project.ts";
import { loadHomeConfig } from "./load-home-config.ts";
import { readSession, sessionsFile } from "./sessions.ts";

/** What a request is signed with. */
export interface Credential {
  readonly kind: "api_key" | "session";
  /** Where it was found: `SERVICE_API_KEY`, or a file. */
  readonly source: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The credential for a server, by SPEC.md's precedence: `SERVICE_API_KEY`, else `api_key` in `[service]` of the project's
 * configuration, then of the home's, else the sign-in of `cli login`. Undefined when there is none.
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
  // A header takes no other characters, and no key has them.
  if (/^[\x21-\x7e]+$/.test(key)) return { kind: "api_key", source, headers: { "x-api-key": key } };
  throw appError("config_invalid", {
    detail: `The API key of ${source} is not valid: it has spaces, line breaks or letters that no key has.`,
    hint: "Set it to the whole key and nothing else, as cli key create printed it: sk_...",
    meta: { source },
  });
}

/** The file is parsed when it may hold a key and not before: that takes as long as a request. */
async function findProjectKey(cwd: string): Promise<Credential | undefined> {
  const project = findProject(cwd);
  if (project === undefined || !/^[^#\n]*\bapi_key\b/m.test(project.text)) return undefined;
  const { readConfig } = await import("../project/read-config.ts");
  const { api_key: apiKey } = readConfig(project);
  return apiKey === undefined ? undefined : keyCredential(apiKey, join(project.root, project.config_file));
}
