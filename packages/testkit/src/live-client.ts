import type { EventReader, ServerEvent } from "./event-reader.ts";

/** Rebuilds a list from the events of a live query, as docs/queries-over-http.md describes. */
export class LiveClient {
  rows: unknown[] = [];
  ids: string[] = [];
  events = 0;
  readonly #reader: Pick<EventReader, "next">;

  constructor(reader: Pick<EventReader, "next">) {
    this.#reader = reader;
  }

  /** Takes the next event. Returns its name, undefined at the end. */
  async take(): Promise<string | undefined> {
    const event = await this.#reader.next();
    if (event === undefined) return undefined;
    this.events += 1;
    this.apply(event);
    return event.event;
  }

  apply({ event, data }: Pick<ServerEvent, "event" | "data">): void {
    if (event === "result") {
      this.rows = [...data.rows];
      this.ids = data.ids === undefined ? [] : [...data.ids];
    }
    if (event !== "change") return;
    const gone = new Set([...data.removed, ...data.changed.map(({ id }: { id: string }) => id)]);
    this.rows = this.rows.filter((_row, at) => !gone.has(this.ids[at]));
    this.ids = this.ids.filter((id) => !gone.has(id));
    for (const { at, id, row } of [...data.changed, ...data.added].sort((a, b) => a.at - b.at)) {
      this.rows.splice(at, 0, row);
      this.ids.splice(at, 0, id);
    }
  }

  /** Takes events until the rows match. @throws when the stream ends first */
  async until(rows: unknown): Promise<void> {
    while (JSON.stringify(this.rows) !== JSON.stringify(rows)) {
      if ((await this.take()) === undefined) throw new Error(`The stream ended with ${JSON.stringify(this.rows)}.`);
    }
  }
}
