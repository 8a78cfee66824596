import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Place } from "./place.ts";

/** A separate file system for the home of a place. It ends with the home's daemon. */
export interface SmallDisk extends AsyncDisposable {
  /** Uses up all free bytes. */
  fill(): void;
  /** Removes the filling. */
  free(): void;
}

/** Mounts a disk of this size at the future home of the place. */
export function mountSmallDisk(place: Place, megabytes: number): SmallDisk {
  mkdirSync(place.home, { mode: 0o700 });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700`, "tmpfs", place.home]);
  const filling = join(place.home, "filling");
  return {
    fill: () => {
      const { bavail, bsize } = statfsSync(place.home);
      const rest = Buffer.alloc(bsize);
      try {
        writeFileSync(filling, Buffer.alloc(bavail * bsize));
        // fills space that was freed in the meantime
        for (;;) writeFileSync(filling, rest, { flag: "a" });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    },
    free: () => rmSync(filling, { force: true }),
    [Symbol.asyncDispose]: async () => {
      rmSync(filling, { force: true });
      await place.cli("daemon", "stop");
      execFileSync("umount", [place.home]);
    },
  };
}
