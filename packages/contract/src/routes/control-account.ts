import * as z from "zod";

/** Bodies of a person's own account: password, second factor, confirmation of identity. */
const time = z.iso.datetime();
const presentPassword = z.string().min(1).max(200);
/** Six digits of an authenticator app, or a recovery code. */
export const factorCodeSchema = z.string().trim().min(6).max(40);

export const accountSecuritySchema = z.object({
  /** False for people who sign in by the OIDC provider alone. */
  has_password: z.boolean(),
  /** Since when codes are asked at sign-in; null without a second factor. */
  second_factor_since: time.nullable(),
  /** Recovery codes that were not used. */
  recovery_codes: z.int(),
  /** Until when dangerous acts need no confirmation in this session. */
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
  /** `otpauth://totp/...`, what a QR code says. */
  uri: z.string(),
});
export type BegunFactor = z.infer<typeof begunFactorSchema>;
export const factorEnableSchema = z.strictObject({ code: factorCodeSchema });
/** The only answer that holds recovery codes. */
export const enabledFactorSchema = z.object({ recovery_codes: z.array(z.string()) });
export type EnabledFactor = z.infer<typeof enabledFactorSchema>;
export const factorDisableSchema = z.strictObject({ password: presentPassword, code: factorCodeSchema });
