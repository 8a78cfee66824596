import { kindOf } from "../kinds/kinds.ts";
import type { BatchParts } from "../kinds/results/arrow-types.ts";
import { OutsideType, outsideType } from "../kinds/results/outside-type.ts";
import { readInt32 } from "../sql/read-int32.ts";
import { batchMessage, END_OF_STREAM, schemaMessage } from "./arrow-messages.ts";
import { packMessage } from "./msgpack-rows.ts";
import type { RowsFormat } from "./rows-format.ts";

const FIELDS_BYTES = 2;
const LENGTH_BYTES = 4;

/** Rows as an IPC stream of Arrow, whose bytes are in messages of msgpack. */
export const ARROW_ROWS: RowsFormat = {
  media_type: "application/msgpack",
  sentType: (type) => kindOf(type).arrow.sent(type),
  message: packMessage,
  begin(columns, describe) {
    const built = columns.map(({ type }) => kindOf(type).arrow.column(type, describe));
    let count = 0;
    let schema: readonly Uint8Array[] = schemaMessage(
      // a computed column has null where it failed, whatever its type says
      built.map(({ type }, at) => ({ name: columns[at]?.name ?? "", nullable: true, type })),
    );
    const withSchema = (pieces: readonly Uint8Array[]): Uint8Array => {
      const message = arrowMessage([...schema, ...pieces]);
      schema = [];
      return message;
    };
    return {
      take_row(row, start) {
        let at = start + FIELDS_BYTES;
        let place = 0;
        try {
          for (const column of built) {
            const length = readInt32(row, at);
            at += LENGTH_BYTES;
            if (length < 0) column.addNull();
            else {
              column.addField(row, at, at + length);
              at += length;
            }
            place += 1;
          }
        } catch (error) {
          const column = columns[place];
          throw error instanceof OutsideType && column !== undefined
            ? outsideType(column.name, column.type, error)
            : error;
        }
        count += 1;
      },
      takeValues(values) {
        for (const [at, column] of built.entries()) {
          const value = values[at] ?? null;
          if (value === null) column.addNull();
          else column.addValue(value);
        }
        count += 1;
      },
      get bytes() {
        return built.reduce((sum, { bytes }) => sum + bytes, 0);
      },
      flush() {
        if (count === 0) return undefined;
        const parts: BatchParts = { nodes: [], buffers: [] };
        for (const column of built) column.take(parts);
        const message = batchMessage(count, parts);
        count = 0;
        return withSchema(message);
      },
      finish: () => withSchema([END_OF_STREAM]),
    };
  },
};

/** `{"arrow": bytes}` in msgpack. The bytes are copied once. */
function arrowMessage(pieces: readonly Uint8Array[]): Buffer {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const head = Buffer.from([ONE_MEMBER, TEXT + "arrow".length, ...Buffer.from("arrow"), BINARY_32, 0, 0, 0, 0]);
  head.writeUInt32BE(bytes, head.length - 4);
  return Buffer.concat([head, ...pieces], head.length + bytes);
}

/** Of msgpack: a map of one member, a short text, bytes with a length of four bytes. */
const ONE_MEMBER = 0x81;
const TEXT = 0xa0;
const BINARY_32 = 0xc6;
