import { createHash, timingSafeEqual } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import { compareVersions, OLDEST_CLIENT, VERSION } from "@appdb/contract/version";

/** Checks that a request sends the home's token. @throws unauthorized */
export function checkToken(authorization: string | undefined, token: string): void {
  if (hasToken(authorization, token)) return;
  throw appError("unauthorized", {
    detail: "The request does not carry this home's token.",
    hint: "Use the command cli with the same SERVICE_HOME and the same user.",
  });
}

/** Whether the header contains this token, compared in constant time. */
export function hasToken(authorization: string | undefined, token: string): boolean {
  const received = /^Bearer (\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
  // digests have equal length, as timingSafeEqual requires
  return timingSafeEqual(digest(received), digest(token));
}

/** Accepts commands with a compatible version. @throws client_too_old with the command that upgrades it */
export function checkClientVersion(version: string | undefined): void {
  if (version !== undefined && compareVersions(version, OLDEST_CLIENT) >= 0) return;
  throw appError("client_too_old", {
    detail: `The command has version ${version ?? "unknown"}; this daemon, version ${VERSION}, supports ${OLDEST_CLIENT} and newer.`,
    hint: "pip install --upgrade 'appdb[serve]'",
    meta: { client: version ?? null, server: VERSION, oldest: OLDEST_CLIENT },
  });
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
