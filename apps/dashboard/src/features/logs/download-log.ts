import type { LogLine } from "@appdb/contract/routes/control-databases";
import { printLine } from "./log-lines.ts";

/** Saves the whole log as a text file in the browser. */
export async function downloadLog(lines: AsyncIterable<LogLine>, name: string): Promise<void> {
  const texts: string[] = [];
  for await (const line of lines) texts.push(`${printLine(line)}\n`);
  const url = URL.createObjectURL(new Blob(texts, { type: "text/plain;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // the click has already started the download
  URL.revokeObjectURL(url);
}
