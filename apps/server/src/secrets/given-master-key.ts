import { appError } from "@appdb/contract/errors";
import type { Secret } from "@appdb/system/secret";
import { SERVER_PATHS, type ServerConfig } from "../config/config.ts";
import { findSecret } from "../config/server-home.ts";

/** The master key of a control plane elsewhere, as it was given or as its home has it. @throws config_invalid when there is none: a gateway makes none */
export function givenMasterKey({ master_key: masterKey }: Pick<ServerConfig, "master_key">, home: string): Secret {
  const found = masterKey ?? findSecret(home, SERVER_PATHS.masterKey);
  if (found !== undefined) return found;
  throw appError("config_invalid", {
    detail:
      "The settings of the server are not valid: SERVICE_MASTER_KEY: is needed by a gateway without a control plane.",
    hint: "Give it the control plane's: SERVICE_MASTER_KEY or SERVICE_MASTER_KEY_FILE.",
    meta: { settings: ["SERVICE_MASTER_KEY"] },
  });
}
