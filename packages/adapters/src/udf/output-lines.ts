import { StringDecoder } from "node:string_decoder";

/** A longer line is given in pieces of this length. */
const MAX_LINE_LENGTH = 8 * 1024;

/** Turns bytes as they come into lines of bounded length. `end` gives what is left without a line break. */
export function createLineSplitter(onLine: (line: string) => void): { push(bytes: Buffer): void; end(): void } {
  const decoder = new StringDecoder("utf8");
  let rest = "";

  function take(text: string): void {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) give(line);
    while (rest.length > MAX_LINE_LENGTH) {
      onLine(rest.slice(0, MAX_LINE_LENGTH));
      rest = rest.slice(MAX_LINE_LENGTH);
    }
  }

  function give(line: string): void {
    const text = line.endsWith("\r") ? line.slice(0, -1) : line;
    for (let start = 0; start === 0 || start < text.length; start += MAX_LINE_LENGTH) {
      onLine(text.slice(start, start + MAX_LINE_LENGTH));
    }
  }

  return {
    push: (bytes) => take(decoder.write(bytes)),
    end() {
      take(decoder.end());
      if (rest !== "") give(rest);
      rest = "";
    },
  };
}
