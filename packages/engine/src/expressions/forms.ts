import { CAST_FORMS } from "./cast-forms.ts";
import type { Forms } from "./form.ts";
import { JSON_FORMS } from "./json-function-forms.ts";
import { MATH_FORMS } from "./math-forms.ts";
import { MEDIA_FORMS } from "./media-forms.ts";
import { OPERATOR_FORMS } from "./operator-forms.ts";
import { STRING_FORMS } from "./string-forms.ts";
import { TIME_FORMS } from "./time-forms.ts";

/**
 * Every function with an SQL form, by the kinds of its positional arguments; `*` is any kind. Other functions only run
 * in Python. sql-forms.db.test.ts proves each entry; an entry that cannot be proven does not belong here.
 */
export const FORMS: Forms = {
  ...OPERATOR_FORMS,
  ...CAST_FORMS,
  ...STRING_FORMS,
  ...JSON_FORMS,
  ...MATH_FORMS,
  ...TIME_FORMS,
  ...MEDIA_FORMS,
  "op.mul": { ...OPERATOR_FORMS["op.mul"], ...STRING_FORMS["op.mul"] },
  "uuid.uuid4": { "": () => "gen_random_uuid()" },
  "uuid.uuid7": { "": () => "uuidv7()" },
  // The start of the statement, equal for all of its rows.
  "timestamp.now": { "": () => "statement_timestamp()" },
  "uuid.to_string": { uuid: ({ args: [id] }) => `${id?.sql}::text` },
  "uuid.hex": { uuid: ({ args: [id] }) => `replace(${id?.sql}::text, '-', '')` },
};
