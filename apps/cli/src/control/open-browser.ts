import { spawn } from "node:child_process";

const OPENERS: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  darwin: ["open"],
  // Not `cmd /c start`, which would interpret `&` in the address.
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
  linux: ["xdg-open"],
};

/**
 * Asks the desktop to open an address, without confirmation. Does nothing where this is impossible, because the address
 * is also printed.
 */
export function openBrowser(url: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(command, [...args, url], { detached: true, stdio: "ignore" });
  child.on("error", () => undefined);
  child.unref();
}
