/** One event of a stream of server-sent events. */
export interface ServerEvent {
  readonly event: string;
  readonly id: string | undefined;
  // What tests look into is JSON of any shape.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the test asserts
  readonly data: any;
}

/** Reads server-sent events one by one; skips comments and `retry`. */
export class EventReader implements AsyncDisposable {
  readonly #pieces: AsyncIterator<Uint8Array | string>;
  readonly #decoder = new TextDecoder();
  #text = "";

  constructor(pieces: AsyncIterable<Uint8Array | string>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** The next event; undefined at the end of the stream. */
  async next(): Promise<ServerEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end < 0) {
        const { value, done } = await this.#pieces.next();
        if (done) return undefined;
        this.#text += typeof value === "string" ? value : this.#decoder.decode(value, { stream: true });
        continue;
      }
      const lines = this.#text.slice(0, end).split("\n");
      this.#text = this.#text.slice(end + 2);
      const of = (name: string) =>
        lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
      const [event] = of("event");
      if (event !== undefined) return { event, id: of("id")[0], data: JSON.parse(of("data").join("\n")) };
    }
  }

  /** Closes the stream. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pieces.return?.();
  }
}
