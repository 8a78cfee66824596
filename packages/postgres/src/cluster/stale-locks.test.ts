import { expect, test } from "vitest";
import { namesFolder } from "./stale-locks.ts";

/** Command line of pg_ctl on Windows, with forward slashes. */
const WINDOWS = `"C:/Users/Jörg/venv/Lib/site-packages/embedded_postgres/pginstall/bin/postgres.exe" -D "C:/Users/Jörg/.service/postgres/18" -c "jit=off"`;

test.each([
  ["win32", WINDOWS, "C:\\Users\\Jörg\\.service\\postgres\\18", true],
  ["win32", WINDOWS, "c:\\users\\jörg\\.service\\postgres\\18", true],
  ["win32", WINDOWS, "C:\\Users\\Jörg\\other\\postgres\\18", false],
  ["linux", "/opt/bin/postgres -D /srv/Home/postgres/18", "/srv/Home/postgres/18", true],
  ["linux", "/opt/bin/postgres -D /srv/Home/postgres/18", "/srv/home/postgres/18", false],
] as const)("recognizes a server by its folder on %s (%#)", (platform, command, folder, isIts) => {
  expect(namesFolder(command, folder, platform)).toBe(isIts);
});
