import { TYPE_KINDS } from "@appdb/contract/types";
import type { Kind } from "../kinds/kind.ts";
import { KINDS } from "../kinds/kinds.ts";
import type { Forms, SqlTemplate } from "./form.ts";

const from =
  ({ casts }: Kind): SqlTemplate =>
  ({ args: [arg], kind: wanted }) =>
    arg === undefined ? undefined : casts[wanted]?.(arg.sql);

/**
 * Conversions (`astype`), by the argument's kind. Text becomes another kind only when it is written in the one way that
 * both sides read alike; everything else raises and is left to Python.
 */
export const CAST_FORMS: Forms = {
  "op.cast": Object.fromEntries(
    TYPE_KINDS.filter((kind) => Object.keys(KINDS[kind].casts).length > 0).map((kind) => [kind, from(KINDS[kind])]),
  ),
};
