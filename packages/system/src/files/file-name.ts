/** Devices of Windows, which no file can be named after, whatever its ending. */
const DEVICES = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;

/** The name of the file or folder that a name of ours has. None of ours begins with `_`. */
export function fileNameOf(name: string, platform: NodeJS.Platform = process.platform): string {
  return platform === "win32" && DEVICES.test(name) ? `_${name}` : name;
}
