import { StringDecoder } from "node:string_decoder";

const MAX_LINE_LENGTH = 8 * 1024;

/**
 * Splits bytes into lines as they arrive. Longer lines are emitted in pieces of `max_length`. `end` emits an
 * unterminated rest.
 */
export function createLineSplitter(
  onLine: (line: string) => void,
  maxLength = MAX_LINE_LENGTH,
): { push(bytes: Buffer): void; end(): void } {
  const decoder = new StringDecoder("utf8");
  let rest = "";

  function take(text: string): void {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) give(line);
    while (rest.length > maxLength) {
      onLine(rest.slice(0, maxLength));
      rest = rest.slice(maxLength);
    }
  }

  function give(line: string): void {
    const text = line.endsWith("\r") ? line.slice(0, -1) : line;
    for (let start = 0; start === 0 || start < text.length; start += maxLength) {
      onLine(text.slice(start, start + maxLength));
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
