import { type AppError, appError, type Problem, toProblem } from "@appdb/contract/errors";
import { FREE_MACHINE_DISK, PROBLEM_HEADERS } from "@appdb/engine/answers/answers";
import { expect, test } from "vitest";
import { createMachineDisk } from "../disks/machine-disk.ts";
import { explainAnswer } from "./carry-request.ts";

const { explain } = createMachineDisk({
  folder: "/home/ada/.service",
  name: "The disk of the home /home/ada/.service",
  free_it: "Free space on that disk",
  readSpace: async () => ({ bytes: 10 ** 9, free_bytes: 0, level: "full" }),
});

function answerOf(error: AppError) {
  return {
    status: error.status,
    headers: { ...PROBLEM_HEADERS, "x-own": "1" },
    body: JSON.stringify(toProblem(error, "7")),
  };
}

test("an insert on a full disk names the home's disk and what is left, as reads do", async () => {
  const detail = "The disk of the database's machine is full; the row was not stored.";
  const given = await explainAnswer(answerOf(appError("disk_full", { detail, hint: FREE_MACHINE_DISK })), { explain });
  expect(given.headers).toMatchObject({ "x-own": "1" });
  expect(JSON.parse(String(given.body)) as Problem).toMatchObject({
    code: "disk_full",
    detail: `${detail} The disk of the home /home/ada/.service has 0 MB left.`,
    hint: "Free space on that disk, and try again.",
    instance: "7",
  });
});

test("an insert into a PostgreSQL that a full disk has ended gets the status of a full disk", async () => {
  const away = appError("database_unavailable", { detail: "PostgreSQL does not answer." });
  const given = await explainAnswer(answerOf(away), { explain });
  expect(given.status).toBe(507);
  expect(JSON.parse(String(given.body))).toMatchObject({ code: "disk_full" });
});

test("other answers stay as they are", async () => {
  const ownLimit = appError("disk_full", { detail: "disk_gb is 10.", hint: "Raise disk_gb." });
  for (const answer of [
    answerOf(ownLimit),
    answerOf(appError("unique_violation", { detail: "A row with this key exists." })),
    { status: 201, headers: {}, body: "{}" },
  ]) {
    const given = await explainAnswer(answer, { explain });
    expect(given).toEqual(answer);
  }
});
