import { TYPE_KINDS } from "@appdb/contract/types";
import type { Kind } from "../kinds/kind.ts";
import { KINDS } from "../kinds/kinds.ts";
import type { Forms, SqlTemplate } from "./form.ts";

const from =
  ({ casts }: Kind): SqlTemplate =>
  ({ args: [arg], kind: castKind }) =>
    arg === undefined ? undefined : casts[castKind]?.(arg.sql);

/**
 * Conversions (`astype`), by the argument's kind. A text becomes another kind only in the one form that both sides read
 * alike. Everything else raises and is left to Python.
 */
export const CAST_FORMS: Forms = {
  "op.cast": Object.fromEntries(
    TYPE_KINDS.filter((kind) => Object.keys(KINDS[kind].casts).length > 0).map((kind) => [kind, from(KINDS[kind])]),
  ),
};
