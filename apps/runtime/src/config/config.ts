import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import { limitSettings, type ServiceLimits, toServiceLimits } from "@appdb/contract/service-limits";
import * as z from "zod";

const text = z.preprocess((value) => (value === "" ? undefined : value), z.string().optional());

/** All environment variables of the daemon. */
const environmentSchema = z.object({
  /** Folder of all the daemon's data. */
  SERVICE_HOME: text,
  /** bin folder of another PostgreSQL 18. */
  SERVICE_PG_BIN: text,
  /** External PostgreSQL server that replaces the embedded one. */
  SERVICE_LOCAL_DATABASE_URL: text,
  SERVICE_LOG_LEVEL: z.preprocess(
    (value) => (value === "" ? undefined : value),
    z.enum(["debug", "info", "warn", "error"]).default("info"),
  ),
  ...limitSettings,
  /** Folder for sockets; defaults to the system's temporary folder. */
  XDG_RUNTIME_DIR: text,
});

export interface DaemonConfig {
  readonly home: string;
  readonly postgres: { readonly bin: string | undefined; readonly url: string | undefined };
  readonly runtime_base: string | undefined;
  readonly log_level: "debug" | "info" | "warn" | "error";
  readonly limits: ServiceLimits;
}

/** Reads the daemon's settings from the environment and reports all problems together. @throws config_invalid */
export function readDaemonConfig(env: Readonly<Record<string, string | undefined>> = process.env): DaemonConfig {
  const parsed = environmentSchema.safeParse(env);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    throw appError("config_invalid", {
      detail: `The environment is not valid: ${problems.join("; ")}.`,
      hint: "Correct or unset these variables.",
      meta: { variables: parsed.error.issues.map((issue) => issue.path.join(".")) },
    });
  }
  const found = parsed.data;
  return {
    home: resolve(found.SERVICE_HOME ?? join(homedir(), ".service")),
    postgres: { bin: found.SERVICE_PG_BIN, url: found.SERVICE_LOCAL_DATABASE_URL },
    runtime_base: found.XDG_RUNTIME_DIR,
    log_level: found.SERVICE_LOG_LEVEL,
    limits: toServiceLimits(found),
  };
}

const launcherSchema = z.array(z.string()).min(1);

/**
 * Command prefix of Python for tenants' code, set by an isolating pod driver: SERVICE_POD_LAUNCHER, a JSON array.
 * @throws config_invalid
 */
export function readPodLauncher(env: Readonly<Record<string, string | undefined>> = process.env): string[] | undefined {
  const value = env.SERVICE_POD_LAUNCHER;
  if (value === undefined || value === "") return undefined;
  try {
    return launcherSchema.parse(JSON.parse(value));
  } catch (cause) {
    throw appError("config_invalid", {
      detail: "SERVICE_POD_LAUNCHER is not a JSON array of strings.",
      hint: "The pod driver sets this variable. Correct or unset it.",
      cause,
    });
  }
}
