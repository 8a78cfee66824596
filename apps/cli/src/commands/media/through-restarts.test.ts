import { appError } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import { throughRestarts } from "./through-restarts.ts";

const away = () => appError("server_unreachable", { detail: "No server responds." });

/** Requests that end like this, in turn: an error, or the answer. */
function answersOf(...results: (Error | string)[]) {
  return async () => {
    const result = results.shift() ?? "";
    if (result instanceof Error) throw result;
    return result;
  };
}

function open() {
  const notes: string[] = [];
  const { signal } = new AbortController();
  return { notes, retry: throughRestarts({ signal, note: (line) => void notes.push(line) }, [0, 0]) };
}

test("a server that restarts is asked again, and the user reads why", async () => {
  const { notes, retry } = open();
  expect(await retry(answersOf("first"))).toBe("first");
  expect(await retry(answersOf(away(), away(), "second"))).toBe("second");
  expect(notes).toEqual(Array(2).fill("The server does not respond. The next attempt is in 0 s."));
  await expect(retry(answersOf(away(), away(), away()))).rejects.toMatchObject({ code: "server_unreachable" });
});

test("a server that never responded, and other errors, end the command at once", async () => {
  const { notes, retry } = open();
  await expect(retry(answersOf(away(), "late"))).rejects.toMatchObject({ code: "server_unreachable" });
  await retry(answersOf("first"));
  const refused = appError("media_not_found", { detail: "There is no file." });
  await expect(retry(answersOf(refused, "late"))).rejects.toMatchObject({ code: "media_not_found" });
  expect(notes).toEqual([]);
});
