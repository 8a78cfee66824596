import type * as z from "zod";

/**
 * A member that the engine adds to what a manifest declares. No client may write it: the engine trusts its content, and
 * gives meaning to it that no declaration has.
 */
export function engineMember<Member extends z.ZodType>(schema: Member): z.ZodOptional<Member> {
  return schema.optional().refine((value) => value === undefined, "is a member that only the engine writes");
}
