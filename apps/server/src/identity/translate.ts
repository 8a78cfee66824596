import { type AppError, appError, type ErrorCode } from "@appdb/contract/errors";
import { PASSWORD_CHARACTERS } from "./auth.ts";

const PASSWORD = `A password has ${PASSWORD_CHARACTERS.min} to ${PASSWORD_CHARACTERS.max} characters.`;

interface Translation {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly hint?: string;
}

/** Maps better-auth's codes and the device flow's errors to our catalogue. */
const TRANSLATIONS: Readonly<Record<string, Translation>> = {
  INVALID_EMAIL_OR_PASSWORD: {
    code: "sign_in_failed",
    detail: "The address or the password is wrong.",
    hint: "Try again, or reset the password.",
  },
  USER_ALREADY_EXISTS: accountExists(),
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: accountExists(),
  SIGN_UP_CLOSED: {
    code: "sign_up_closed",
    detail: "This server creates accounts by invitation only, and this link does not belong to an open invitation.",
    hint: "Ask a member of an organization for an invitation, and open its link.",
  },
  PASSWORD_TOO_SHORT: { code: "invalid_request", detail: PASSWORD, hint: "Choose a longer one." },
  PASSWORD_TOO_LONG: { code: "invalid_request", detail: PASSWORD, hint: "Choose a shorter one." },
  INVALID_EMAIL: {
    code: "invalid_request",
    detail: "The address is not an e-mail address.",
    hint: "Write it as ann@example.com.",
  },
  INVALID_TOKEN: {
    code: "reset_expired",
    detail: "The link was used before, is older than an hour, or never existed.",
    hint: "Request another one on the sign-in page.",
  },
  PROVIDER_NOT_FOUND: {
    code: "invalid_request",
    detail: "The server does not offer this sign-in, or its provider does not answer.",
    hint: "For the available providers, see oidc in GET /v1/service.",
  },
  INVALID_ORIGIN: { code: "csrf_refused", detail: "The request comes from another site." },
  unauthorized: { code: "unauthorized", detail: "You are not signed in.", hint: "Sign in first." },
  invalid_request: deviceCode("The code is wrong, was answered before, or belongs to another person."),
  expired_token: deviceCode("The code was not confirmed in time."),
  access_denied: deviceCode("The code belongs to another person."),
};

/** Turns a refusal of better-auth into an error of ours. */
export function translate(status: number, body: unknown): AppError {
  const { code, error } = (typeof body === "object" && body !== null ? body : {}) as {
    code?: unknown;
    error?: unknown;
  };
  const found = [code, error].map((name) => (typeof name === "string" ? TRANSLATIONS[name] : undefined)).find(Boolean);
  if (found !== undefined) return appError(found.code, { detail: found.detail, hint: found.hint });
  if (status === 401) return appError("unauthorized", { detail: "You are not signed in.", hint: "Sign in first." });
  if (status < 500)
    return appError("invalid_request", { detail: "The request was refused.", meta: { reason: code ?? error ?? null } });
  return appError("internal_error", {
    detail: "An unexpected error occurred. The log has it under this request's id.",
  });
}

function accountExists(): Translation {
  return { code: "account_exists", detail: "An account with this address already exists.", hint: "Sign in with it." };
}

function deviceCode(detail: string): Translation {
  return { code: "device_code_not_found", detail, hint: "Start again to get a new code: cli login" };
}
