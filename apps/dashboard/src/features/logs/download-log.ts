import type { LogLine } from "@appdb/contract/routes/control-databases";
import { printLine } from "./log-lines.ts";

/** Has the browser store a log, all of it, as a text file. */
export async function downloadLog(lines: AsyncIterable<LogLine>, name: string): Promise<void> {
  const texts: string[] = [];
  for await (const line of lines) texts.push(`${printLine(line)}\n`);
  const url = URL.createObjectURL(new Blob(texts, { type: "text/plain;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // a click that stores takes the address at once
  URL.revokeObjectURL(url);
}
