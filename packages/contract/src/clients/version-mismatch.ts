import { AppError, type ErrorCode, type Problem } from "../errors.ts";
import { BUILD, compareVersions, SERVER_BUILD_HEADER, SERVER_VERSION_HEADER, VERSION } from "../version.ts";
import type { Fetched } from "./client.ts";

/** The program behind an API, as messages name it. */
export interface Peer {
  /** `The daemon`, `The server at https://...`. */
  readonly name: string;
  /** The next step if the program is older than this command, or another build of its version. */
  readonly upgrade_it: string;
  /** The next step if this command is older. */
  readonly upgrade_command: string;
}

/** Refusals of a route, or of a body, that one side knows and the other does not. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  "not_found",
  "method_not_allowed",
  "invalid_request",
  "manifest_invalid",
]);

/**
 * The error of a request that another version, or another build of this version, does not understand. Undefined for any
 * other refusal, and from a program that has the same build or does not tell its version.
 */
export function versionMismatch(peer: Peer, answer: Fetched, problem: Problem, request: string): AppError | undefined {
  if (!REFUSALS.has(problem.code)) return undefined;
  const version = answer.headers?.get(SERVER_VERSION_HEADER) ?? undefined;
  if (version === undefined) return undefined;
  // without credentials, a caller does not get the build
  const build = answer.headers?.get(SERVER_BUILD_HEADER) ?? null;
  const order = compareVersions(version, VERSION);
  if (order === 0 && (BUILD === undefined || build === null || build === BUILD)) return undefined;
  const reason =
    problem.code === "not_found" || problem.code === "method_not_allowed"
      ? `It does not know ${request}.`
      : `It refused ${request}. ${problem.detail}`;
  const meta = { version: VERSION, build: BUILD ?? null, server_version: version, server_build: build };
  if (order > 0) {
    return new AppError("client_too_old", {
      detail: `This command (version ${VERSION}) is older than ${lowerFirst(peer.name)} (version ${version}). ${reason}`,
      hint: peer.upgrade_command,
      meta,
    });
  }
  const difference =
    order < 0
      ? `${peer.name} (version ${version}) is older than this command (version ${VERSION}).`
      : `${peer.name} has another build of version ${version} (${build}) than this command (${BUILD}).`;
  return new AppError("server_too_old", { detail: `${difference} ${reason}`, hint: peer.upgrade_it, meta });
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
