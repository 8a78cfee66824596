import {
  closeSync,
  constants,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { readTenantFile, TENANT_FILE, withTenantFolderSync } from "@appdb/system/files/tenant-files";
import { createLineSplitter } from "@appdb/system/processes/output-lines";
import { LogFiles } from "./log-files.ts";
import { parseLogLine } from "./log-line.ts";
import type { PodLine, PodLogsInput } from "./pod-driver.ts";

/** The pod's own log, which it rotates to `pod.log.1` and so on. */
const LOG_FILE = "pod.log";
/** Direct output of the program: little, mostly the reason of a crash. */
const OUTPUT_FILE = "output.log";
const MAX_OUTPUT_BYTES = 4_000_000;
/** What Node prints when it ends because of its heap, within so many bytes. */
const FULL_HEAP = "JavaScript heap out of memory";
const REASON_BYTES = 64 * 1024;
const MAX_LINE_LENGTH = 64 * 1024;
const POLL_MS = 100;
/** Prefix of a pod's line about an answered request. It does not explain why the pod ended. */
const REQUEST_LINE = "request {";
/** Number of lines to search for one that is not about a request. */
const LINES_OF_REQUESTS = 100;
/** A line of our own program's stack trace, and the trace in a log entry: they tell people of a tenant nothing. */
const FRAME = /^\s+at .+:\d+:\d+\)?$/;
const STACK = /,?"stack":"(?:[^"\\]|\\.)*"/g;
/** Creates a new file of ours, whatever the pod put in its place. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | TENANT_FILE;
/** Errors for unlinking a folder; systems other than Linux use the second. */
const FOLDER = ["EISDIR", "EPERM"];

/**
 * Reads a pod's log: lines of `pod.log` and its rotated files, oldest first. With `follow` it continues until the
 * signal, across rotations, and waits for a missing log. It ends without an error when the signal aborts.
 */
export async function* readPodLog(logFolder: string, input: PodLogsInput): AsyncGenerator<PodLine, void, void> {
  const { signal } = input;
  await using files = new LogFiles(join(logFolder, LOG_FILE));
  if (input.tail !== undefined) await files.seekLast(input.tail);
  const since = input.since?.toISOString() ?? "";
  const texts: string[] = [];
  const lines = createLineSplitter((text) => void texts.push(text), MAX_LINE_LENGTH);
  let at: string | undefined;
  while (!signal.aborted) {
    const piece = await files.read();
    if (piece !== undefined) lines.push(piece.bytes);
    // an unterminated last line is complete when the file was rotated or the caller does not follow
    if (piece === undefined ? !input.follow : piece.is_end) lines.end();
    for (const text of texts.splice(0)) {
      at ??= (await files.writtenAt()).toISOString();
      const line = parseLogLine(text, at);
      at = line.at;
      if (line.at >= since && !signal.aborted) yield line;
    }
    if (piece !== undefined) continue;
    if (!input.follow) return;
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * The last lines of a pod since its start, with its direct output last. They explain why it ended, if it could still
 * report it. Without stack traces of our own program.
 */
export async function readLastLines(logFolder: string, startedAt: Date, count: number): Promise<string[]> {
  const input = {
    tail: count * LINES_OF_REQUESTS,
    since: startedAt,
    follow: false,
    signal: new AbortController().signal,
  };
  const words: string[] = [];
  for await (const { line } of readPodLog(logFolder, input)) if (!line.startsWith(REQUEST_LINE)) words.push(line);
  await using output = new LogFiles(join(logFolder, OUTPUT_FILE));
  await output.seekLast(count);
  const lines = createLineSplitter((text) => void words.push(parseLogLine(text, "").line), MAX_LINE_LENGTH);
  for (let piece = await output.read(); piece !== undefined; piece = await output.read()) lines.push(piece.bytes);
  lines.end();
  return words
    .filter((text) => text.trim() !== "" && !FRAME.test(text))
    .map((text) => text.replaceAll(STACK, ""))
    .slice(-count);
}

/**
 * Opens a new file for the program's direct output. The previous program's output moves to `output.log.old`.
 * @throws pod_failed when the log folder is not a folder
 */
export function openOutput(logFolder: string): number {
  mkdirSync(logFolder, { recursive: true, mode: 0o700 });
  const file = withTenantFolderSync(logFolder, (folder) => {
    const path = join(folder, OUTPUT_FILE);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.size === 0) rmSync(path);
    else if (found !== undefined) renameSync(path, `${path}.old`);
    return openSync(path, NEW_FILE | constants.O_APPEND, 0o600);
  });
  if (file !== undefined) return file;
  throw appError("pod_failed", {
    detail: `The folder ${logFolder} for a pod's log cannot be used: it is not a folder.`,
  });
}

/** Whether Node ended the program because its heap was full: it says so first. */
export function hasFullHeap(logFolder: string): boolean {
  return (
    withTenantFolderSync(logFolder, (folder) => readTenantFile(join(folder, OUTPUT_FILE), REASON_BYTES))?.includes(
      FULL_HEAP,
    ) === true
  );
}

/** Bounds the size of a program's direct output: older output moves to `output.log.old`. */
export function boundOutput(logFolder: string): void {
  withTenantFolderSync(logFolder, (folder) => {
    const path = join(folder, OUTPUT_FILE);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || !found.isFile() || found.size < MAX_OUTPUT_BYTES) return;
    // the program appends to the open file, so a renamed file would keep growing
    const file = openSync(path, constants.O_RDWR | TENANT_FILE);
    try {
      const words = Buffer.alloc(MAX_OUTPUT_BYTES);
      const length = readSync(file, words, 0, words.length, found.size - words.length);
      if (isUnlinked(`${path}.old`)) writeLastLines(`${path}.old`, words.subarray(0, length));
      ftruncateSync(file);
    } finally {
      closeSync(file);
    }
  });
}

/** False for a folder that a pod created. Removing it by path would be unsafe, because the path can be swapped. */
function isUnlinked(path: string): boolean {
  try {
    unlinkSync(path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && !FOLDER.includes(code)) throw error;
    return code === "ENOENT";
  }
  return true;
}

function writeLastLines(path: string, words: Buffer): void {
  try {
    writeFileSync(path, words, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    // disk space is worth more than old output
    unlinkSync(path);
  }
}
