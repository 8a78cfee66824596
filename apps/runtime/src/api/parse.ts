import { appError, type ErrorCode } from "@appdb/contract/errors";
import { MANIFEST_VERSION } from "@appdb/contract/manifest";
import type { z } from "zod";

const MAX_ERRORS = 20;

/** Parses a client's input. @throws invalid_request, manifest_invalid, manifest_too_new */
export function parseRequest<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const code: ErrorCode = issues.every((issue) => issue.path[0] === "manifest")
    ? "manifest_invalid"
    : "invalid_request";
  refuseNewerManifest(value);
  const errors = issues.slice(0, MAX_ERRORS).map((issue) => ({
    pointer: `/${issue.path.map(String).join("/")}`,
    detail: issue.message,
  }));
  throw appError(code, {
    detail: `The request is invalid: ${errors.map((error) => `${error.pointer}: ${error.detail}`).join("; ")}.`,
    errors,
  });
}

function refuseNewerManifest(value: unknown): void {
  const version = (value as { manifest?: { manifest_version?: unknown } } | null)?.manifest?.manifest_version;
  if (typeof version !== "number" || version <= MANIFEST_VERSION) return;
  throw appError("manifest_too_new", {
    detail: `The manifest has version ${version}; this daemon supports versions up to ${MANIFEST_VERSION}.`,
    hint: "Upgrade the command: pip install --upgrade 'appdb[serve]', then cli daemon restart",
    meta: { version, newest: MANIFEST_VERSION },
  });
}
