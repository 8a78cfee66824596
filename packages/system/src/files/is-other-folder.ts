import { statSync } from "node:fs";
import { resolve } from "node:path";

/** Whether a path is an existing folder other than this one, also by another name. */
export function isOtherFolder(path: string, folder: string): boolean {
  const [there, here] = [path, folder].map((one) => statSync(one, { throwIfNoEntry: false }));
  if (there === undefined || here === undefined || resolve(path) === resolve(folder)) return false;
  return there.dev !== here.dev || there.ino !== here.ino;
}
