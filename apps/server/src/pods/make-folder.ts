import { chmod, mkdir } from "node:fs/promises";

/** Creates a folder of the server that users of pods may traverse but not list or write. */
export async function makeTraversable(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  // independent of the server's umask
  await chmod(folder, 0o755);
}

/** Creates a folder that only its owner can access. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}
