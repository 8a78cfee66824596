import { fstatSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { SERVER_PATHS } from "./config/config.ts";

export interface Welcome {
  readonly home: string;
  readonly url: string;
  /** The one-time token of the first account. Undefined once there is an account. */
  readonly token: string | undefined;
  /** Whether systemd's journal stores the standard output, which others may read. */
  readonly is_journal: boolean;
}

/**
 * The output of a server that listens. It contains the link that creates the first account. Under a journal, the link
 * goes into a private file of the home instead.
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
  // an empty line marks the end for programs that start the server
  return `${lines.join("\n")}\n\n`;
}

/** Whether the standard output is the journal's: JOURNAL_STREAM has the device and inode of its stream. */
export function isJournal(journalStream: string | undefined): boolean {
  if (journalStream === undefined) return false;
  const { dev, ino } = fstatSync(process.stdout.fd);
  return journalStream === `${dev}:${ino}`;
}
