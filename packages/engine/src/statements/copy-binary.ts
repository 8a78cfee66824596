import type { Generators, Row, Slot } from "../compute/row-layout.ts";
import { CopySheet } from "../kinds/inserts/copy-sheet.ts";
import { kindOf } from "../kinds/kinds.ts";
import type { StoredColumns, WriteField } from "../rows/stored-columns.ts";

const SIGNATURE = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");
const END = Buffer.from([0xff, 0xff]);
const JSONB_VERSION = 1;

/** Whether a COPY of these columns can be in PostgreSQL's binary format. */
export function isBinary(slots: readonly Slot[]): boolean {
  return slots.every(({ type }) => kindOf(type).binary !== null);
}

/** Writes the values that the engine makes for a slot; null for a computed one. */
export function writeMade({ origin, type }: Slot, make: Generators): WriteField {
  const { binary } = kindOf(type);
  if (binary === null || origin === "input" || origin === "computed" || origin === "unstored") {
    return (sheet) => sheet.null();
  }
  return (sheet) => binary.write(sheet, make[origin](), type);
}

/** Writes rows in the binary format of COPY. After each row's slots follow its cell errors, of the type jsonb. */
export class BinaryCopy {
  readonly #slots: readonly Slot[];
  readonly #sheet = new CopySheet();
  #hasBegun = false;

  constructor(slots: readonly Slot[]) {
    this.#slots = slots;
  }

  /** The bytes of rows. `made` writes the values of slots that the columns lack. */
  ofColumns(
    { columns, rows }: { readonly columns: StoredColumns; readonly rows: number },
    made: (slot: Slot) => WriteField,
    errors: string | null,
  ): Buffer {
    const writers = this.#slots.map((slot) => columns.get(slot.at) ?? made(slot));
    const sheet = this.#begin();
    for (let at = 0; at < rows; at++) {
      sheet.int16(writers.length + 1);
      for (const write of writers) write(sheet, at);
      writeErrors(sheet, errors);
    }
    return sheet.take();
  }

  ofRows(rows: readonly Row[], errorsOf: (row: Row) => string | null): Buffer {
    const sheet = this.#begin();
    for (const row of rows) {
      sheet.int16(this.#slots.length + 1);
      for (const { at, type } of this.#slots) {
        const value = row[at] ?? null;
        if (value === null) sheet.null();
        else kindOf(type).binary?.write(sheet, value, type);
      }
      writeErrors(sheet, errorsOf(row));
    }
    return sheet.take();
  }

  end(): Buffer {
    return this.#hasBegun ? END : Buffer.concat([SIGNATURE, END]);
  }

  #begin(): CopySheet {
    if (!this.#hasBegun) this.#sheet.raw(SIGNATURE);
    this.#hasBegun = true;
    return this.#sheet;
  }
}

function writeErrors(sheet: CopySheet, errors: string | null): void {
  if (errors === null) {
    sheet.null();
    return;
  }
  const bytes = Buffer.from(errors);
  sheet.int32(bytes.length + 1);
  sheet.raw(Uint8Array.of(JSONB_VERSION));
  sheet.raw(bytes);
}
