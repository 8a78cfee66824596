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
  /** `error:` and `hint:`; with `json` also the problem itself, as the payload unless there was one already. */
  problem(problem: Problem, json: boolean): void;
}

/** Makes the output of a pair of streams. */
export function createOutput(stdout: TextStream, stderr: TextStream, plain: boolean): Output {
  const rewrites = () => stderr.isTTY === true && !plain;
  let hasStatus = false;
  let hasPayload = false;
  const clear = () => {
    if (hasStatus) stderr.write("\r\x1b[2K");
    hasStatus = false;
  };
  const note = (text: string) => {
    clear();
    stderr.write(`${text}\n`);
  };
  const json = (value: unknown) => {
    clear();
    hasPayload = true;
    stdout.write(`${JSON.stringify(value, null, 2)}\n`);
  };
  return {
    line: (text = "") => {
      clear();
      hasPayload = true;
      stdout.write(`${text}\n`);
    },
    note,
    status: (text) => {
      if (!rewrites()) {
        if (text !== "") stderr.write(`${text}\n`);
        return;
      }
      clear();
      if (text === "") return;
      stderr.write(text);
      hasStatus = true;
    },
    json,
    problem: (problem, asJson) => {
      if (asJson && !hasPayload) json(problem);
      // Whoever pressed Ctrl-C knows: that is no error.
      note(problem.code === "interrupted" ? problem.detail : `error: ${problem.detail}`);
      if (problem.hint !== undefined) note(`hint: ${problem.hint}`);
    },
  };
}
