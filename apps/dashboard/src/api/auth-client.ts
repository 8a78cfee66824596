import {
  type AppError,
  appError,
  type ErrorCode,
  fromProblem,
  isErrorCode,
  type Problem,
} from "@appdb/contract/errors";
import { AUTH_PATH } from "@appdb/contract/routes/control-paths";

/**
 * The routes of sign-up, sign-in and the device flow. Throws the server's error, server_unreachable or server_failed.
 */
export interface AuthClient {
  /** `code`: of the second factor, if the server asked for one. */
  signIn(input: { readonly email: string; readonly password: string; readonly code?: string }): Promise<void>;
  signUp(input: SignUp): Promise<void>;
  signOut(): Promise<void>;
  /** Requests a mail with a link to `/reset?token=`. The answer does not reveal whether the account exists. */
  requestReset(email: string): Promise<void>;
  resetPassword(input: { readonly token: string; readonly newPassword: string }): Promise<void>;
  /** The provider's address to open. The provider returns to the path `next`. */
  providerAddress(provider: string, next: string): Promise<string>;
  answerDevice(verdict: "approve" | "deny", userCode: string): Promise<void>;
}

interface SignUp {
  readonly email: string;
  readonly name: string;
  readonly password: string;
  readonly invitation?: string;
}

export function createAuthClient(): AuthClient {
  return {
    signIn: async (input) => void (await post("/sign-in/email", input)),
    signUp: async (input) => void (await post("/sign-up/email", input)),
    signOut: async () => void (await post("/sign-out", {})),
    requestReset: async (email) => void (await post("/request-password-reset", { email, redirectTo: "/reset" })),
    resetPassword: async (input) => void (await post("/reset-password", input)),
    providerAddress: async (providerId, next) => {
      return addressIn(await post("/sign-in/oauth2", { providerId, callbackURL: next }));
    },
    answerDevice: async (verdict, userCode) => void (await post(`/device/${verdict}`, { userCode })),
  };
}

async function post(path: string, body: unknown): Promise<unknown> {
  const response = await fetch(AUTH_PATH + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  }).catch((cause: unknown) => {
    throw appError("server_unreachable", { detail: "The server does not answer.", cause });
  });
  const text = await response.text();
  const answer = readJson(text);
  if (response.ok) return answer;
  throw readAuthRefusal(response.status, answer);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // these routes need no answer except for an address, which its caller checks
    return undefined;
  }
}

const DEVICE_ERRORS: ReadonlyMap<string, ErrorCode> = new Map([
  ["expired_token", "sign_in_expired"],
  ["access_denied", "forbidden"],
]);

/** Parses a problem document, or the device routes' errors by RFC 8628: `{error, error_description}`. */
export function readAuthRefusal(status: number, answer: unknown): AppError {
  if (isProblem(answer)) return fromProblem(answer);
  if (typeof answer === "object" && answer !== null && "error" in answer && typeof answer.error === "string") {
    const message =
      "error_description" in answer && typeof answer.error_description === "string" ? answer.error_description : "";
    return appError(DEVICE_ERRORS.get(answer.error) ?? "device_code_not_found", {
      detail: message || `The code was not accepted (${answer.error}).`,
      hint: "Ask for a new code: cli login",
    });
  }
  return appError("server_failed", { detail: `The server answered with status ${status} without a reason.` });
}

function isProblem(answer: unknown): answer is Problem {
  return (
    typeof answer === "object" &&
    answer !== null &&
    "code" in answer &&
    typeof answer.code === "string" &&
    isErrorCode(answer.code) &&
    "detail" in answer &&
    typeof answer.detail === "string"
  );
}

function addressIn(answer: unknown): string {
  if (typeof answer === "object" && answer !== null && "url" in answer && typeof answer.url === "string") {
    return answer.url;
  }
  throw appError("server_failed", { detail: "The server did not return the provider's address." });
}
