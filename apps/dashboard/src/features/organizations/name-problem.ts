import { refuseDeviceName } from "@appdb/contract/device-names";
import { AppError } from "@appdb/contract/errors";
import { parseName } from "@appdb/contract/names";

/** The problem of a typed new name, with a valid alternative. Undefined for a valid or empty name. */
export function nameProblem(kind: "organization" | "database", name: string): string | undefined {
  if (name === "") return undefined;
  try {
    refuseDeviceName(kind, parseName(kind, name));
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  }
}
