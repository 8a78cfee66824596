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
import { inTenantFolderNow, TENANT_FILE } from "@appdb/system/files/tenant-files";
import { createLineSplitter } from "@appdb/system/processes/output-lines";
import { LogFiles } from "./log-files.ts";
import { parseLogLine } from "./log-line.ts";
import type { PodLine, PodLogsInput } from "./pod-driver.ts";

/** What the pod writes, and rotates by itself to `pod.log.1` and on. */
const LOG_FILE = "pod.log";
/** What the program prints by itself: little, above all why it crashed. */
const OUTPUT_FILE = "output.log";
const MAX_OUTPUT_BYTES = 4_000_000;
const MAX_LINE_LENGTH = 64 * 1024;
const POLL_MS = 100;
/** How a pod logs that it answered a request; it says nothing of why the pod ended. */
const REQUEST_LINE = "request {";
/** Lines that are read for one that is no request's. */
const LINES_OF_REQUESTS = 100;
/** Of ours from its first byte, whatever the pod has put in its place. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | TENANT_FILE;
/** What the system says of a folder that is unlinked; other systems than Linux say the second. */
const FOLDER = ["EISDIR", "EPERM"];

/**
 * Reads a pod's log: lines of `pod.log` and of the files that it was rotated to, the oldest first. With `follow` it goes on until the
 * signal, through rotations, and waits for a log that is not there yet. It ends quietly when the signal comes.
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
    // nothing follows a line in its file that has no end yet: the file was rotated, or nobody waits for the rest
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

/** The last lines of a pod since it was started, what it printed by itself last: why it ended, if it could still say so. */
export async function readLastWords(logFolder: string, startedAt: Date, count: number): Promise<string[]> {
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
  return words.filter((text) => text.trim() !== "").slice(-count);
}

/**
 * Opens a new file for what a program prints by itself from now on; the former program's goes to `output.log.old`.
 * @throws pod_failed when something else than a folder has the folder's place
 */
export function openOutput(logFolder: string): number {
  mkdirSync(logFolder, { recursive: true, mode: 0o700 });
  const file = inTenantFolderNow(logFolder, (folder) => {
    const path = join(folder, OUTPUT_FILE);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.size === 0) rmSync(path);
    else if (found !== undefined) renameSync(path, `${path}.old`);
    return openSync(path, NEW_FILE | constants.O_APPEND, 0o600);
  });
  if (file !== undefined) return file;
  throw appError("pod_failed", {
    detail: `The folder ${logFolder} for a pod's log is none: something else has its name.`,
  });
}

/** Keeps what a program prints by itself from growing: what is older goes to `output.log.old` once there is much of it. */
export function boundOutput(logFolder: string): void {
  inTenantFolderNow(logFolder, (folder) => {
    const path = join(folder, OUTPUT_FILE);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || !found.isFile() || found.size < MAX_OUTPUT_BYTES) return;
    // the program has the file open to append to it, so that a renamed one would go on growing
    const file = openSync(path, constants.O_RDWR | TENANT_FILE);
    try {
      const words = Buffer.alloc(MAX_OUTPUT_BYTES);
      const length = readSync(file, words, 0, words.length, found.size - words.length);
      if (isUnlinked(`${path}.old`)) keepWords(`${path}.old`, words.subarray(0, length));
      ftruncateSync(file);
    } finally {
      closeSync(file);
    }
  });
}

/** False for a folder, which a pod has put there: whoever removes one by its path can be led elsewhere meanwhile. */
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

function keepWords(path: string, words: Buffer): void {
  try {
    writeFileSync(path, words, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    // room is worth more than old words
    unlinkSync(path);
  }
}
