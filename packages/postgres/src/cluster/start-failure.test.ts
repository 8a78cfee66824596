import { expect, test } from "vitest";
import { isSameOutage, startFailure } from "./start-failure.ts";

const WORDS = `2026-11-25 17:08:00.000 UTC [7] LOG:  starting PostgreSQL 18.0
2026-11-25 17:08:00.100 UTC [7] LOG:  startup process (PID 9) exited with exit code 1
2026-11-25 17:08:00.200 UTC [7] LOG:  database system is shut down
`;
const failure = "it ended with code 1";

test("names a full disk whether or not PostgreSQL could log it", () => {
  const silent = startFailure({ failure, output: WORDS, free_bytes: 4_096 });
  expect(silent).toMatchObject({ code: "disk_full", meta: { free_bytes: 4_096 } });
  expect(silent.message).toBe("PostgreSQL could not be started: the disk of its data has 4 kB left.");
  const output = `${WORDS}FATAL:  could not write to file: No space left on device\n`;
  expect(startFailure({ failure, output, free_bytes: 2_000_000 })).toMatchObject({ code: "disk_full" });
});

test("includes the last output of any other failed start", () => {
  const error = startFailure({ failure, output: WORDS, free_bytes: 1e9 });
  expect(error).toMatchObject({ code: "postgres_failed" });
  expect(error.message).toBe(
    "PostgreSQL could not be started: it ended with code 1. It said: LOG:  startup process (PID 9) exited with exit code 1 LOG:  database system is shut down",
  );
});

test("an outage is the same while only numbers of processes and free bytes differ", () => {
  const failed = (output: string) => startFailure({ failure, output, free_bytes: 1e9 });
  const first = failed(WORDS);
  expect(isSameOutage(first, failed(WORDS.replace("PID 9", "PID 812")))).toBe(true);
  expect(isSameOutage(first, failed("FATAL:  the data directory has wrong ownership\n"))).toBe(false);
  const full = (bytes: number) => startFailure({ failure, output: WORDS, free_bytes: bytes });
  expect(isSameOutage(full(0), full(4_096))).toBe(true);
  expect(isSameOutage(full(0), first)).toBe(false);
  expect(isSameOutage(undefined, first)).toBe(false);
  expect(isSameOutage(new Error("port 1 is in use"), new Error("port 2 is in use"))).toBe(true);
});
