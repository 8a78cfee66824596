import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "@appdb/testkit/test-project";

/** A separate file system for the home of a project. It ends with the home's daemon. */
export interface SmallDisk extends AsyncDisposable {
  /** Uses up all free bytes, or leaves about as many megabytes. */
  fill(leftMegabytes?: number): void;
  /** Removes the filling. */
  free(): void;
}

/** Mounts a disk of this size at the future home of the project. */
export function mountSmallDisk(project: TestProject, megabytes: number): SmallDisk {
  mkdirSync(project.home, { mode: 0o700 });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700`, "tmpfs", project.home]);
  const filling = join(project.home, "filling");
  return {
    fill: (leftMegabytes) => {
      const { bavail, bsize } = statfsSync(project.home);
      if (leftMegabytes !== undefined) {
        writeFileSync(filling, Buffer.alloc(Math.max(0, bavail * bsize - leftMegabytes * 1024 ** 2)));
        return;
      }
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
      await project.cli("daemon", "stop");
      execFileSync("umount", [project.home]);
    },
  };
}
