import { AppError, type FieldError } from "@appdb/contract/errors";

/** Where one of many rows stands in its request. */
export interface RowPlace {
  /** Its number from 0, as JSON Pointers count. */
  readonly row: number;
  /** For people: `Line 4`, or `[3]` in an array. */
  readonly name: string;
}

/** The same error, of a row among others; what is no AppError passes as it is. */
export function atRow(error: unknown, place: RowPlace): unknown {
  if (!(error instanceof AppError)) return error;
  return new AppError(error.code, {
    detail: `${place.name}: ${error.message}`,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    meta: { ...error.meta, row: place.row },
    errors: rowErrors(error, place),
    cause: error.cause,
  });
}

/** What is wrong with a row, with pointers into the whole request. */
export function rowErrors(error: AppError, place: RowPlace): readonly FieldError[] {
  const own = error.errors ?? [{ pointer: "", detail: error.message }];
  return own.map(({ pointer, detail }) => {
    const field = pointer === "" ? "" : `${pointer.slice(1)}: `;
    return { pointer: `/${place.row}${pointer}`, detail: `${place.name}: ${field}${detail}` };
  });
}
