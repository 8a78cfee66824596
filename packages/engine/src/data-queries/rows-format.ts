import type { ResultColumn } from "@appdb/contract/routes/data-queries";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import type { DescribeFile } from "../kinds/results/describe-file.ts";
import type { Statement } from "../ports.ts";

/**
 * Writes a result as messages (contract, data-queries.ts). Rows are collected until `flush`. The statement's rows come
 * as bytes (`take_row`), those that Python computed as values.
 */
export interface RowsFormat {
  readonly media_type: string;
  /** Set if `take_row` reads PostgreSQL's binary format instead of its texts: the PostgreSQL type that it reads. */
  readonly sentType?: (type: ColumnType) => string;
  /** Begins a result. `describe` is only called for columns of media. */
  begin(columns: readonly ResultColumn[], describe: DescribeFile): RowsWriter;
  /** One message. */
  message(message: object): Uint8Array;
}

export interface RowsWriter {
  readonly take_row: NonNullable<Statement["take_row"]>;
  takeValues(values: readonly EngineValue[]): void;
  /** Bytes of the rows since the last flush. */
  readonly bytes: number;
  /** A message with these rows; undefined for none. */
  flush(): Uint8Array | undefined;
  /** What follows the last rows; undefined for nothing. */
  finish(): Uint8Array | undefined;
}
