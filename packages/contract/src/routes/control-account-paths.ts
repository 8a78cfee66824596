import type { ControlRoute } from "./control-route.ts";

/** The part of CONTROL_ROUTES that concerns a person's own account (bodies: control-account.ts). */
export const ACCOUNT_ROUTES = {
  accountShow: {
    method: "GET",
    path: "/v1/account/security",
    permission: "signed_in",
    summary: "Show how one's own account is secured",
  },
  passwordChange: {
    method: "POST",
    path: "/v1/account/password",
    permission: "signed_in",
    summary: "Change one's own password",
  },
  /** Proves the person again, for acts that answer `reauthentication_required`. */
  sessionConfirm: {
    method: "POST",
    path: "/v1/session/confirm",
    permission: "signed_in",
    summary: "Confirm one's identity in the session",
  },
  factorBegin: {
    method: "POST",
    path: "/v1/account/second-factor",
    permission: "signed_in",
    summary: "Begin the set-up of a second factor",
  },
  /** Answers the recovery codes, once. */
  factorEnable: {
    method: "POST",
    path: "/v1/account/second-factor/enable",
    permission: "signed_in",
    summary: "Turn the second factor on by its first code",
  },
  factorDisable: {
    method: "POST",
    path: "/v1/account/second-factor/disable",
    permission: "signed_in",
    summary: "Remove the second factor",
  },
} as const satisfies Record<string, ControlRoute>;
