/** Command that a user can enter to end a process. */
export function endCommand(pid: number, platform: NodeJS.Platform = process.platform): string {
  return platform === "win32" ? `taskkill /F /PID ${pid}` : `kill ${pid}`;
}
