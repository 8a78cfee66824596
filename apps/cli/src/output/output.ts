import type { Problem } from "@appdb/contract/errors";
import { showControlsInLines } from "./show-controls.ts";

/** Minimal interface of an output stream. */
export interface TextStream {
  write(text: string): unknown;
  /** Settles when the stream takes more; missing for one that always does. */
  whenReady?(): Promise<void>;
  readonly isTTY?: boolean;
}

/** Output of a command: the payload on stdout, everything else on stderr. */
export interface Output {
  /** Prints a line of the payload. */
  line(text?: string): void;
  /** Prints foreign text of the payload: unchanged into a file or a pipe, with escaped controls on a terminal. */
  data(text: string): void;
  /** Waits for the reader of the payload. What prints without an end waits after each piece, or memory fills. */
  ready(): Promise<void>;
  /** Prints a line outside the payload: progress, actions, warnings. */
  note(text: string): void;
  /** Rewrites the last line on a terminal; otherwise prints a line, once. Empty text clears it. */
  status(text: string): void;
  /** Prints the payload as JSON. With `--json`, nothing else reaches stdout. */
  json(value: unknown): void;
  /** The same for text that is JSON already. */
  jsonText(text: string): void;
  /** Prints `error:` and `hint:`. With `json`, also prints the problem as the payload, unless there was one. */
  problem(problem: Problem, json: boolean): void;
}

/** Makes the output of a pair of streams. */
export function createOutput(stdout: TextStream, stderr: TextStream, plain: boolean): Output {
  const rewrites = () => stderr.isTTY === true && !plain;
  let hasStatus = false;
  const printed = new Set<string>();
  let hasPayload = false;
  const clear = () => {
    if (hasStatus) stderr.write("\r\x1b[2K");
    hasStatus = false;
  };
  const note = (text: string) => {
    clear();
    stderr.write(`${text}\n`);
  };
  const data = (text: string) => {
    clear();
    hasPayload = true;
    stdout.write(`${stdout.isTTY === true ? showControlsInLines(text) : text}\n`);
  };
  const json = (value: unknown) => data(JSON.stringify(value, null, 2));
  return {
    line: (text = "") => {
      clear();
      hasPayload = true;
      stdout.write(`${text}\n`);
    },
    note,
    status: (text) => {
      if (!rewrites()) {
        if (text !== "" && !printed.has(text)) stderr.write(`${text}\n`);
        if (text === "") printed.clear();
        else printed.add(text);
        return;
      }
      clear();
      if (text === "") return;
      stderr.write(text);
      hasStatus = true;
    },
    json,
    jsonText: data,
    data,
    ready: async () => await stdout.whenReady?.(),
    problem: (problem, asJson) => {
      if (asJson && !hasPayload) json(problem);
      const shown = (text: string) => note(showControlsInLines(text));
      // After Ctrl-C, the interruption is not an error.
      shown(problem.code === "interrupted" ? problem.detail : `error: ${problem.detail}`);
      if ((problem.errors?.length ?? 0) > 1)
        for (const { detail, pointer } of problem.errors ?? []) shown(`    ${pointer}: ${detail}`);
      if (problem.hint !== undefined) shown(`hint: ${problem.hint}`);
    },
  };
}
