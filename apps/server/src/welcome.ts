import { fstatSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { SERVER_PATHS } from "./config/config.ts";

export interface Welcome {
  readonly home: string;
  readonly url: string;
  /** The one-time token of the first account; undefined once there is an account. */
  readonly token: string | undefined;
  /** Whether systemd's journal keeps the standard output, and shows it to everyone who may read logs. */
  readonly is_journal: boolean;
}

/**
 * What the server prints when it listens. The link that makes the first account is printed, but never written to a journal: there
 * it goes into a file of the home, which only the server's user can read.
 */
export function writeWelcome({ home, url, token, is_journal }: Welcome): string {
  const file = join(home, SERVER_PATHS.firstAccount);
  const lines = [`Dashboard: ${url}`];
  const link = `${url}/setup?token=${token}`;
  if (token === undefined || !is_journal) rmSync(file, { force: true });
  else writePrivateFile(file, `${link}\n`);
  if (token !== undefined) {
    lines.push(is_journal ? `Make the first account: open the link in ${file}` : `Make the first account: ${link}`);
  }
  // an empty line tells a program that started the server that this is all
  return `${lines.join("\n")}\n\n`;
}

/** Whether the standard output is the journal's: systemd names the device and the inode of its stream in JOURNAL_STREAM. */
export function isJournal(journalStream: string | undefined): boolean {
  if (journalStream === undefined) return false;
  const { dev, ino } = fstatSync(process.stdout.fd);
  return journalStream === `${dev}:${ino}`;
}
