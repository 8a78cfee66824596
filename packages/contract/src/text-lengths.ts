import * as z from "zod";

/** Maximum characters of texts in manifests and changes. Lists of tables have all of them, for each caller. */
export const MAX_COMMENT_LENGTH = 10_000;
/** Of an expression as people read it. */
export const MAX_EXPRESSION_TEXT = 100_000;
/** Of metadata as JSON. */
export const MAX_METADATA_LENGTH = 20_000;
/** Of the name of a table, column, index, model, module or function, and of a path. Most have stricter rules, too. */
export const MAX_ANY_NAME = 1_000;

export const nameText = z.string().max(MAX_ANY_NAME);
export const commentText = z.string().max(MAX_COMMENT_LENGTH);
export const expressionText = z.string().max(MAX_EXPRESSION_TEXT);
export const metadata = z.unknown().refine(
  (value) => {
    return value == null || (JSON.stringify(value)?.length ?? 0) <= MAX_METADATA_LENGTH;
  },
  `has more than ${MAX_METADATA_LENGTH.toLocaleString("en")} characters as JSON`,
);
