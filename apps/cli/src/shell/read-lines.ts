import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import type { Terminal, TerminalInput } from "../context.ts";
import type { Completion } from "./complete.ts";

/** What a source of lines had next. */
export type ReadLine =
  | { readonly kind: "line"; readonly text: string }
  /** Ctrl-C at the prompt. */
  | { readonly kind: "interrupt"; readonly was_empty: boolean }
  | { readonly kind: "end" };

export interface LineSource {
  /** Reads a line; shows the prompt only to a person. */
  next(prompt: string): Promise<ReadLine>;
  close(): void;
}

export interface Typing {
  /** The oldest first. */
  readonly history: readonly string[];
  readonly max_history: number;
  complete(line: string): Promise<Completion>;
  /** Whether an entered line is left out of the history. */
  isSecret(line: string): boolean;
}

/** Lines of given texts. */
export function readTexts(texts: readonly string[]): LineSource {
  const lines = texts.flatMap((text) => text.split(/\r?\n/));
  return {
    next: async () => {
      const text = lines.shift();
      return text === undefined ? { kind: "end" } : { kind: "line", text };
    },
    close: () => undefined,
  };
}

/** Lines of piped input. */
export function readPiped({ input }: Terminal): LineSource {
  const reader = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  const lines = reader[Symbol.asyncIterator]();
  return {
    next: async () => {
      const { done = false, value } = await lines.next();
      return done ? { kind: "end" } : { kind: "line", text: value };
    },
    close: () => reader.close(),
  };
}

/**
 * Lines that a person types. Between two calls of `next`, the terminal belongs to the running command: its questions
 * read it, and Ctrl-C is a signal.
 */
export function readTyped({ input, output }: Terminal, typing: Typing): LineSource {
  const keyboard = new Keyboard(input);
  const entered: ReadLine[] = [];
  let waiting: ((read: ReadLine) => void) | undefined;
  const give = (read: ReadLine) => {
    if (waiting === undefined) {
      entered.push(read);
      return;
    }
    keyboard.detach();
    waiting(read);
    waiting = undefined;
  };
  const reader = createInterface({
    input: keyboard,
    output,
    terminal: true,
    history: typing.history.toReversed(),
    historySize: typing.max_history,
    removeHistoryDuplicates: true,
    completer: (line: string, callback: (error: Error | null, found: [string[], string]) => void) => {
      typing.complete(line).then(
        ([candidates, typed]) => callback(null, [candidates, typed]),
        () => callback(null, [[], line]),
      );
    },
  });
  let isClosed = false;
  reader.on("history", (lines: string[]) => {
    if (typing.isSecret(lines[0] ?? "")) lines.shift();
  });
  reader.on("line", (text) => give({ kind: "line", text }));
  reader.on("SIGINT", () => {
    const wasEmpty = reader.line === "";
    output.write("^C\n");
    reader.write(null, { ctrl: true, name: "e" });
    reader.write(null, { ctrl: true, name: "u" });
    give({ kind: "interrupt", was_empty: wasEmpty });
  });
  reader.on("close", () => {
    isClosed = true;
    give({ kind: "end" });
  });
  return {
    next: (prompt) => {
      const ready = entered.shift();
      if (ready !== undefined) return Promise.resolve(ready);
      if (isClosed) return Promise.resolve({ kind: "end" });
      return new Promise((resolve) => {
        waiting = resolve;
        keyboard.attach();
        reader.setPrompt(prompt);
        reader.prompt(true);
      });
    },
    close: () => {
      reader.close();
      keyboard.detach();
    },
  };
}

/** The terminal's keys, for as long as it is attached. readline itself has no way to give the terminal back. */
class Keyboard extends PassThrough {
  readonly isTTY = true;
  readonly #terminal: TerminalInput;
  readonly #forward = (keys: Buffer) => this.write(keys);
  readonly #finish = () => this.end();

  constructor(terminal: TerminalInput) {
    super();
    this.#terminal = terminal;
  }

  attach(): void {
    this.#terminal.setRawMode?.(true);
    this.#terminal.on("data", this.#forward);
    this.#terminal.on("end", this.#finish);
    this.#terminal.resume();
  }

  detach(): void {
    this.#terminal.off("data", this.#forward);
    this.#terminal.off("end", this.#finish);
    this.#terminal.pause();
    this.#terminal.setRawMode?.(false);
  }

  /** readline calls this when it begins and closes; the mode follows `attach` and `detach`. */
  setRawMode(): this {
    return this;
  }
}
