import type { ColumnFormName } from "../../kinds/inserts/column-forms.ts";

/** A column of a frame: one value for each row, in the form's own type; null for null. */
export interface FrameColumn {
  readonly name: string;
  readonly form: ColumnFormName;
  readonly values: readonly (string | number | bigint | boolean | Uint8Array | null)[];
}

/** A frame with rows by columns, as clients write it. */
export function columnFrame(columns: readonly FrameColumn[]): Buffer {
  const rows = columns[0]?.values.length ?? 0;
  const described = columns.map(({ form, name, values }) => ({ name, form, nulls: values.includes(null) }));
  const parts = columns.flatMap(({ form, values }) => {
    const nulls = values.includes(null) ? [Buffer.from(values.map((value) => (value === null ? 1 : 0)))] : [];
    const cells = values.map((value) => cellOf(form, value));
    if (WIDTHS[form] !== undefined) return [...nulls, ...cells];
    const lengths = Buffer.alloc(4 * rows);
    for (const [at, cell] of cells.entries()) lengths.writeUInt32LE(cell.length, 4 * at);
    return [...nulls, lengths, ...cells];
  });
  return rawFrame(JSON.stringify({ rows, columns: described }), Buffer.concat(parts));
}

/** A frame with lines of JSON. */
export function lineFrame(text: string): Buffer {
  return rawFrame("", Buffer.from(text));
}

export function rawFrame(header: string, data: Uint8Array): Buffer {
  const head = Buffer.from(header);
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(4 + head.length + data.length, 0);
  lengths.writeUInt32LE(head.length, 4);
  return Buffer.concat([lengths, head, data]);
}

const WIDTHS: Readonly<Partial<Record<ColumnFormName, number>>> = {
  i64: 8,
  f64: 8,
  u8: 1,
  micros: 8,
  days: 4,
  b16: 16,
};

function cellOf(form: ColumnFormName, value: FrameColumn["values"][number]): Buffer {
  const width = WIDTHS[form];
  if (width === undefined) return value === null ? Buffer.alloc(0) : Buffer.from(value as string);
  const cell = Buffer.alloc(width);
  if (value === null) return cell;
  if (form === "f64") cell.writeDoubleLE(Number(value));
  else if (form === "u8") cell[0] = Number(value);
  else if (form === "days") cell.writeInt32LE(Number(value));
  else if (form === "b16") cell.set(value as Uint8Array);
  else cell.writeBigInt64LE(BigInt(value as number));
  return cell;
}
