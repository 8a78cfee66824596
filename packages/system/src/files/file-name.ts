/** Device names of Windows. No file may have one of these names, with any extension. */
const DEVICES = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;

/** Maps a product name to the name of its file or folder. Product names never begin with `_`. */
export function fileNameOf(name: string, platform: NodeJS.Platform = process.platform): string {
  return platform === "win32" && DEVICES.test(name) ? `_${name}` : name;
}
