import type { Problem } from "@appdb/contract/errors";

/** The least of a stream that is written to. */
export interface TextStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** Where a command writes: the payload to stdout, everything else to stderr. */
export interface Output {
  /** A line of the payload. */
  line(text?: string): void;
  /** A line for the person beside the payload: progress, what is being done, warnings. */
  note(text: string): void;
  /** Rewrites the last line on a terminal, else prints a line. Empty text clears it. */
  status(text: string): void;
  /** The payload as JSON; of `--json` this is all that reaches stdout. */
  json(value: unknown): void;
  /** `error:` and `hint:`, after the status line if there is one. */
  problem(problem: Problem): void;
}

/** Makes the output of a pair of streams. */
export function createOutput(stdout: TextStream, stderr: TextStream, plain: boolean): Output {
  const rewrites = stderr.isTTY === true && !plain;
  let hasStatus = false;
  const clear = () => {
    if (hasStatus) stderr.write("\r\x1b[2K");
    hasStatus = false;
  };
  const note = (text: string) => {
    clear();
    stderr.write(`${text}\n`);
  };
  return {
    line: (text = "") => {
      clear();
      stdout.write(`${text}\n`);
    },
    note,
    status: (text) => {
      if (!rewrites) {
        if (text !== "") stderr.write(`${text}\n`);
        return;
      }
      clear();
      if (text === "") return;
      stderr.write(text);
      hasStatus = true;
    },
    json: (value) => {
      clear();
      stdout.write(`${JSON.stringify(value, null, 2)}\n`);
    },
    problem: (problem) => {
      note(`error: ${problem.detail}`);
      if (problem.hint !== undefined) note(`hint: ${problem.hint}`);
    },
  };
}
