import type { ResultColumn } from "@appdb/contract/routes/data-queries";
import { isMedia } from "../kinds/media.ts";
import type { DescribeFile } from "../kinds/results/describe-file.ts";
import type { QueryOutput } from "../query-plans/query-plan.ts";
import type { RowsFormat, RowsWriter } from "./rows-format.ts";

interface ResultMessagesDeps {
  openFiles(): Promise<DescribeFile>;
}

interface ResultMessagesInput {
  readonly format: RowsFormat;
  send(message: Uint8Array): Promise<void>;
}

/** The messages of one result: columns, rows, then the end. An error before the first rows leaves nothing sent. */
export class ResultMessages {
  readonly #deps: ResultMessagesDeps;
  readonly #input: ResultMessagesInput;
  #columns: readonly ResultColumn[] = [];
  #writer: RowsWriter | undefined;
  is_started = false;
  count = 0;

  constructor(deps: ResultMessagesDeps, input: ResultMessagesInput) {
    this.#deps = deps;
    this.#input = input;
  }

  /** The statement whose fields have the form that the format reads. */
  sent(text: string, outputs: readonly QueryOutput[]): { readonly text: string; readonly is_binary: boolean } {
    const { sentType } = this.#input.format;
    if (sentType === undefined) return { text, is_binary: false };
    const names = outputs.map((_output, at) => `c${at}`);
    const fields = outputs.map(({ type }, at) => `q.c${at}::${sentType(type)}`);
    return { text: `select ${fields.join(", ")} from (${text}) as q(${names.join(", ")})`, is_binary: true };
  }

  /** Begins the rows; those of an attempt before are dropped. */
  async begin(outputs: readonly QueryOutput[]): Promise<RowsWriter> {
    this.#columns = outputs.map(({ name, type, nullable }) => ({ name, type, nullable }));
    const hasFiles = this.#columns.some(({ type }) => isMedia(type.kind));
    this.#writer = this.#input.format.begin(this.#columns, hasFiles ? await this.#deps.openFiles() : noFiles);
    this.count = 0;
    return this.#writer;
  }

  /** Sends the rows so far. */
  async flush(): Promise<void> {
    const { format } = this.#input;
    if (!this.is_started) {
      this.is_started = true;
      await this.#input.send(format.message({ columns: this.#columns }));
    }
    await this.#send(this.#writer?.flush());
  }

  async finish(): Promise<void> {
    await this.flush();
    await this.#send(this.#writer?.finish());
    await this.#send(this.#input.format.message({ done: { count: this.count, has_more: false } }));
  }

  async #send(message: Uint8Array | undefined): Promise<void> {
    if (message !== undefined) await this.#input.send(message);
  }
}

function noFiles(): never {
  throw new TypeError("A result without columns of media describes no file.");
}
