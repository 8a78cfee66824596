import type { LogLine } from "@appdb/contract/routes/control-databases";
import { saveFile } from "../files/save-file.ts";
import { printLine } from "./log-lines.ts";

/** Saves the whole log as a text file in the browser. */
export async function downloadLog(lines: AsyncIterable<LogLine>, name: string): Promise<void> {
  const texts: string[] = [];
  for await (const line of lines) texts.push(`${printLine(line)}\n`);
  saveFile(texts, { name, type: "text/plain" });
}
