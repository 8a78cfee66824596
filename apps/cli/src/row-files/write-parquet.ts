import { writeSync } from "node:fs";
import type { ExactJson } from "@appdb/contract/clients/exact-json";
import { VERSION } from "@appdb/contract/version";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import type { ParquetColumn } from "./parquet-columns.ts";

/** Rows, and characters of their JSON, that complete a row group. They are in memory until it is written. */
const GROUP_ROWS = 50_000;
const GROUP_CHARACTERS = 16 * 1024 * 1024;

/** Writes rows to an open file as Parquet. The file is readable once `end` has written its index. */
export class ParquetFile {
  readonly #columns: readonly ParquetColumn[];
  readonly #writer: ParquetWriter;
  #values: unknown[][];
  #rows = 0;
  #characters = 0;

  constructor(
    file: number,
    columns: readonly ParquetColumn[],
    metadata: { readonly key: string; readonly value: string },
  ) {
    this.#columns = columns;
    this.#values = this.#columns.map(() => []);
    this.#writer = new ParquetWriter({
      writer: writerOf(file),
      schema: [{ name: "schema", num_children: columns.length }, ...this.#columns.flatMap(({ elements }) => elements)],
      kvMetadata: [metadata],
      createdBy: `appdb version ${VERSION}`,
    });
  }

  /** Adds some rows. `characters`: about their size. */
  async add(rows: readonly (readonly ExactJson[])[], characters: number): Promise<void> {
    for (const cells of rows) {
      for (const [at, { value }] of this.#columns.entries()) {
        const cell = cells[at] ?? null;
        this.#values[at]?.push(cell === null ? null : value(cell));
      }
    }
    this.#rows += rows.length;
    this.#characters += characters;
    if (this.#rows >= GROUP_ROWS || this.#characters >= GROUP_CHARACTERS) await this.#writeGroup();
  }

  async end(): Promise<void> {
    if (this.#rows > 0) await this.#writeGroup();
    await this.#writer.finish();
  }

  async #writeGroup(): Promise<void> {
    const columnData = this.#columns.map(({ name }, at) => ({
      name,
      data: this.#values[at] ?? [],
      offsetIndex: false,
    }));
    await this.#writer.write({ columnData, rowGroupSize: this.#rows });
    this.#values = this.#columns.map(() => []);
    this.#rows = 0;
    this.#characters = 0;
  }
}

/** A writer that empties its buffer into the file after each row group. */
function writerOf(file: number): ByteWriter {
  const writer = new ByteWriter() as ByteWriter & { index: number };
  const flush = () => {
    const bytes = new Uint8Array(writer.buffer, 0, writer.index);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    writer.index = 0;
  };
  return Object.assign(writer, { flush, finish: flush });
}
