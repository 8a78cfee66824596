import { AppError } from "@appdb/contract/errors";
import { parseName } from "@appdb/contract/names";

/** What is wrong with a name that somebody is typing, and what it could be instead; undefined for a
 *  good one, and for none yet. */
export function nameProblem(kind: "organization" | "database", name: string): string | undefined {
  if (name === "") return undefined;
  try {
    parseName(kind, name);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  }
}
