import { shownNameSchema } from "@appdb/contract/routes/control";
import { factorCodeSchema } from "@appdb/contract/routes/control-account";
import * as z from "zod";
import { OIDC_PROVIDER, PASSWORD_CHARACTERS } from "./auth.ts";

const email = z.email().max(254);
const password = z.string().min(PASSWORD_CHARACTERS.min).max(PASSWORD_CHARACTERS.max);
/** A path of this site. `//host` and `/\host` are refused, because browsers read them as another host. */
const ownPath = z
  .string()
  .max(500)
  .regex(/^\/(?![/\\])[^\\\p{Cc}]*$/u, "is not a path of this server");
/** Visible ASCII: what codes and tokens are made of. */
const visible = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[\x20-\x7e]*$/, "has characters that codes and tokens never contain");
const userCode = visible(40).min(1);

/** The accepted bodies of the routes under /v1/auth. Other routes of better-auth are refused. */
export const AUTH_BODIES = {
  "sign-up/email": z.strictObject({
    email,
    name: shownNameSchema,
    password,
    invitation: z.string().max(200).optional(),
  }),
  "sign-in/email": z.strictObject({
    email,
    password: z.string().min(1).max(PASSWORD_CHARACTERS.max),
    /** A code of the second factor, if the account has one. */
    code: factorCodeSchema.optional(),
  }),
  "sign-in/oauth2": z.strictObject({ providerId: z.literal(OIDC_PROVIDER), callbackURL: ownPath.default("/") }),
  "sign-out": z.strictObject({}),
  "request-password-reset": z.strictObject({ email, redirectTo: ownPath.optional() }),
  "reset-password": z.strictObject({ token: visible(200).min(1), newPassword: password }),
  "device/code": z.object({ client_id: visible(100), scope: visible(200).optional() }),
  "device/token": z.object({
    grant_type: z.string().max(100),
    device_code: visible(200),
    client_id: visible(100),
  }),
  "device/approve": z.strictObject({ userCode }),
  "device/deny": z.strictObject({ userCode }),
} as const;

export type AuthRoute = keyof typeof AUTH_BODIES;
export type AuthBody<Route extends AuthRoute> = z.output<(typeof AUTH_BODIES)[Route]>;
