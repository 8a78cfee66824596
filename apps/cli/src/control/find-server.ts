import { join } from "node:path";
import { type AppError, appError } from "@appdb/contract/errors";
import { HOME_PATHS, type ServerFile } from "@appdb/contract/home";
import type { CliConfig } from "../config/config.ts";
import { isDaemonAlive } from "../daemon/is-daemon-alive.ts";
import { loadHomeConfig, readIfThere } from "./load-home-config.ts";

/** A hosted service's control plane. */
export interface ControlPlaneAddress {
  /** Normal form, without a slash at its end: sign-ins are kept by it. */
  readonly url: string;
  /** Where the address was set, as a person calls it. */
  readonly source: string;
  /** False for the server of this home when its process is gone: whoever has its port by now is a stranger. */
  readonly is_running: boolean;
}

/**
 * The server that commands talk to: `SERVICE_API_URL`, else `api_url` of the home's config.toml, else the server that
 * `npm start` runs on this home. Never one that a project names.
 * @throws config_invalid for what is no address; server_unreachable when none is set and none runs
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

/** Reads an address as a person types it. @throws Error with what is wrong, which the command line's parser prints */
export function parseServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new Error("expected an address that begins with https:// or http://");
  }
  if (url.username !== "" || url.password !== "") throw new Error("an address has no user name and no password here");
  if (url.search !== "" || url.hash !== "") throw new Error("an address has no '?' and no '#' here");
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** The error of a server of this home that is not running any more. */
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

/** Undefined when there is none, or one that a crash of the machine cut short. */
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
    hint: "Name yours: cli login --server https://...   or start one with npm start in its checkout",
    meta: { home },
  });
}
