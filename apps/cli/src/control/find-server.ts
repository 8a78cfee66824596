import { join } from "node:path";
import { type AppError, appError } from "@appdb/contract/errors";
import { HOME_PATHS, type ServerFile } from "@appdb/contract/home";
import { readIfThere } from "@appdb/system/control/sessions";
import type { CliConfig } from "../config/config.ts";
import { isDaemonAlive } from "../daemon/is-daemon-alive.ts";
import { loadHomeConfig } from "./load-home-config.ts";

/** A hosted service's control plane. */
export interface ControlPlaneAddress {
  /** Normalized, without a final slash. Sign-ins are stored by it. */
  readonly url: string;
  /** The setting that contains the address, as users know it. */
  readonly source: string;
  /** False for this home's server when its process has ended, because another program may now use its port. */
  readonly is_running: boolean;
}

/**
 * The server of commands: `SERVICE_API_URL`, then `api_url` of the home's config.toml, then the server that `npm start`
 * runs on this home. Never one that a project names.
 * @throws config_invalid for an invalid address; server_unreachable when none is set and none runs
 */
export async function findServer(config: Pick<CliConfig, "home" | "api_url">): Promise<ControlPlaneAddress> {
  if (config.api_url !== undefined) return configured(config.api_url, "SERVICE_API_URL");
  const { api_url: apiUrl } = await loadHomeConfig(config.home);
  if (apiUrl !== undefined) return configured(apiUrl, join(config.home, HOME_PATHS.config));
  const file = join(config.home, HOME_PATHS.server);
  const served = readServerFile(file);
  if (served === undefined) throw noServer(config.home);
  return { url: served.url, source: file, is_running: isDaemonAlive(served.pid) };
}

/** Parses an address as typed. @throws Error with a message that the command-line parser prints */
export function parseServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new Error("expected an address that begins with https:// or http://");
  }
  if (url.username !== "" || url.password !== "") throw new Error("an address has no user name and no password here");
  if (url.search !== "" || url.hash !== "") throw new Error("an address has no '?' and no '#' here");
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** Error when this home's server has stopped. */
export function stoppedServer({ url, source }: ControlPlaneAddress): AppError {
  return appError("server_unreachable", {
    detail: `The server of this home does not run; it was at ${url} (from ${source}).`,
    hint: "Start it with npm start in its checkout, or use another server: cli login --server https://...",
    meta: { url, source },
  });
}

function configured(text: string, source: string): ControlPlaneAddress {
  try {
    return { url: parseServerUrl(text), source, is_running: true };
  } catch (cause) {
    throw appError("config_invalid", {
      detail: `The server's address in ${source} is not valid: ${cause instanceof Error ? cause.message : cause}.`,
      hint: "Write: https://cloud.example.com",
      meta: { source },
      cause,
    });
  }
}

/** Undefined when there is none, or when a machine crash cut it off. */
function readServerFile(file: string): ServerFile | undefined {
  const text = readIfThere(file);
  if (text === undefined) return undefined;
  try {
    const { url, pid } = JSON.parse(text) as Partial<ServerFile>;
    return typeof url === "string" && Number.isInteger(pid)
      ? { url: parseServerUrl(url), pid: pid as number }
      : undefined;
  } catch {
    return undefined;
  }
}

function noServer(home: string): AppError {
  return appError("server_unreachable", {
    detail: `No server is known: SERVICE_API_URL is not set, ${join(home, HOME_PATHS.config)} names none, and none runs on this home.`,
    hint: "Set yours: cli login --server https://...   or start one with npm start in its checkout",
    meta: { home },
  });
}
