import { spawn } from "node:child_process";

const OPENERS: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  darwin: ["open"],
  // Not `cmd /c start`, which would read `&` in the address.
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
  linux: ["xdg-open"],
};

/** Asks the desktop to show an address; whether it does is not known. Where nothing can be asked, nothing happens: the
 *  person has the address on the screen. */
export function openBrowser(url: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(command, [...args, url], { detached: true, stdio: "ignore" });
  child.on("error", () => undefined);
  child.unref();
}
