import { appError } from "@appdb/contract/errors";
import { type ColumnType, displayType } from "@appdb/contract/types";

/** A value in PostgreSQL that its column's type does not have. The product writes none; other programs may have. */
export class OutsideType extends Error {
  /** Shows it to people: `infinity`. */
  readonly value: string;

  constructor(value: string) {
    super(`${value} is outside of its type`);
    this.value = value;
  }
}

/** The error for people. */
export function outsideType(column: string, type: ColumnType, { value }: OutsideType): Error {
  return appError("value_outside_type", {
    detail: `The column ${column} has ${value}, which is not a ${displayType(type, false)}: years are 1 to 9999.`,
    hint: `Another program wrote it. Find it with cli rows, and replace it: cli update <table> <key> --set ${column}=<value>`,
    meta: { column },
  });
}
