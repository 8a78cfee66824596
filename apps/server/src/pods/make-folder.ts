import { chmod, mkdir } from "node:fs/promises";

/** Makes a folder of the server's that users of pods pass through. They read what belongs to them in it. */
export async function makePassage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  // whatever mask the server has
  await chmod(folder, 0o755);
}

/** Makes a folder that is private to its owner. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}
