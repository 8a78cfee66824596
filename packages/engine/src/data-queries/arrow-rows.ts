import { readInt32 } from "../sql/read-int32.ts";
import { arrowColumn, sentType } from "./arrow-columns.ts";
import { type BatchParts, batchMessage, END_OF_STREAM, schemaMessage } from "./arrow-messages.ts";
import { packMessage } from "./msgpack-rows.ts";
import type { RowsFormat } from "./rows-format.ts";

const FIELDS_BYTES = 2;
const LENGTH_BYTES = 4;

/** Rows as an IPC stream of Arrow, whose bytes are in messages of msgpack. */
export const ARROW_ROWS: RowsFormat = {
  media_type: "application/msgpack",
  sentType,
  message: packMessage,
  begin(columns, describe) {
    const built = columns.map(({ type }) => arrowColumn(type, describe));
    let count = 0;
    let schema: Buffer | undefined = schemaMessage(
      // a computed column has null where it failed, whatever its type says
      built.map(({ type }, at) => ({ name: columns[at]?.name ?? "", nullable: true, type })),
    );
    const withSchema = (message: Buffer): Uint8Array => {
      const arrow = schema === undefined ? message : Buffer.concat([schema, message]);
      schema = undefined;
      return packMessage({ arrow });
    };
    return {
      take_row(row, start) {
        let at = start + FIELDS_BYTES;
        for (const column of built) {
          const length = readInt32(row, at);
          at += LENGTH_BYTES;
          if (length < 0) column.addNull();
          else {
            column.addField(row, at, at + length);
            at += length;
          }
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
      finish: () => withSchema(END_OF_STREAM),
    };
  },
};
