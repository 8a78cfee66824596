import * as z from "zod";

/** Bodies of a person's own account: password, second factor, confirmation of identity. */
const time = z.iso.datetime();
const presentPassword = z.string().min(1).max(200);
/** Six digits of an authenticator app, or a recovery code. */
export const factorCodeSchema = z.string().trim().min(6).max(40);

export const accountSecuritySchema = z.object({
  /** False for people who only sign in by the OIDC provider. */
  has_password: z.boolean(),
  /** When the second factor was enabled; null without one. */
  second_factor_since: time.nullable(),
  /** Number of unused recovery codes. */
  recovery_codes: z.int(),
  /** Until then, dangerous actions need no confirmation in this session. */
  confirmed_until: time,
});
export type AccountSecurity = z.infer<typeof accountSecuritySchema>;

export const passwordChangeSchema = z.strictObject({
  password: presentPassword,
  new_password: z.string().min(10).max(200),
  end_other_sessions: z.boolean().default(false),
});

export const confirmSchema = z.strictObject({ password: presentPassword, code: factorCodeSchema.optional() });

export const factorBeginSchema = z.strictObject({ password: presentPassword });
export const begunFactorSchema = z.object({
  /** Base 32, to type into an authenticator app. */
  secret: z.string(),
  /** `otpauth://totp/...`, the content of the QR code. */
  uri: z.string(),
});
export type BegunFactor = z.infer<typeof begunFactorSchema>;
export const factorEnableSchema = z.strictObject({ code: factorCodeSchema });
/** The only response with recovery codes. */
export const enabledFactorSchema = z.object({ recovery_codes: z.array(z.string()) });
export type EnabledFactor = z.infer<typeof enabledFactorSchema>;
export const factorDisableSchema = z.strictObject({ password: presentPassword, code: factorCodeSchema });
