import { existsSync, readFileSync } from "node:fs";
import { RotatingFile } from "../daemon/rotating-file.ts";

const MAX_BYTES = 10_000_000;
const KEEP = 3;
/** Longer lines are cut, so that output of a service cannot fill the daemon's memory. */
const LONGEST_LINE = 64_000;

/** The log of one service: its processes' output line by line in a rotating file. Followers get each line. */
export class ServiceLog implements Disposable {
  readonly path: string;
  readonly #file: RotatingFile;
  readonly #followers = new Set<(line: string) => void>();

  constructor(path: string) {
    this.path = path;
    this.#file = new RotatingFile({ path, max_bytes: MAX_BYTES, keep: KEEP });
  }

  /** Takes a process's output and buffers incomplete lines. Each stream of a process needs its own sink. */
  createSink(): { write(chunk: string): void; end(): void } {
    let rest = "";
    return {
      write: (chunk) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) this.append(line);
        if (rest.length > LONGEST_LINE) {
          this.append(rest);
          rest = "";
        }
      },
      end: () => {
        if (rest !== "") this.append(rest);
        rest = "";
      },
    };
  }

  append(line: string): void {
    const cut = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
    this.#file.write(`${cut}\n`);
    for (const follower of this.#followers) follower(cut);
  }

  /** The last `count` lines, including those of the previous file when necessary. */
  tail(count: number): string[] {
    if (count === 0) return [];
    const lines = readLines(this.path);
    const older = lines.length < count ? readLines(`${this.path}.1`) : [];
    return [...older, ...lines].slice(-count);
  }

  /** Calls back for each new line until the returned function is called. */
  follow(onLine: (line: string) => void): () => void {
    this.#followers.add(onLine);
    return () => this.#followers.delete(onLine);
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}

function readLines(path: string): string[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
