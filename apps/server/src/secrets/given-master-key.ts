import { appError } from "@appdb/contract/errors";
import type { Secret } from "@appdb/system/secret";
import { SERVER_PATHS, type ServerConfig } from "../config/config.ts";
import { findSecret } from "../config/server-home.ts";

/** The configured master key of a remote control plane. @throws config_invalid if there is none */
export function givenMasterKey({ master_key: masterKey }: Pick<ServerConfig, "master_key">, home: string): Secret {
  const found = masterKey ?? findSecret(home, SERVER_PATHS.masterKey);
  if (found !== undefined) return found;
  throw appError("config_invalid", {
    detail: "Invalid server settings: SERVICE_MASTER_KEY: is required for a gateway without a control plane.",
    hint: "Set SERVICE_MASTER_KEY or SERVICE_MASTER_KEY_FILE to the control plane's key.",
    meta: { settings: ["SERVICE_MASTER_KEY"] },
  });
}
