import { mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { PodTask } from "./task-runner.ts";

/** User ids that nobody else on the machine has. */
export interface UserRange {
  readonly first: number;
  readonly count: number;
}

/** User ids of databases and organizations, unless the operator says others. */
export const POD_USERS: UserRange = { first: 200_000, count: 100_000 };

/**
 * The user id of an owner (a database, an organization): given out once and never again, so that a file that was forgotten
 * somewhere never becomes somebody else's. Kept in `folder` as two links, whose making is exclusive: from the number to
 * the owner, then from the owner to the number. A start that is killed between both takes another number the next time.
 * @throws pod_failed when the range has no number left
 */
export function allotUser(folder: string, owner: string, range: UserRange): number {
  const known = readLink(join(folder, ownerName(owner)));
  if (known !== undefined) return Number(known);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const taken = readNumbers(folder);
  for (
    let uid = Math.max(range.first, ...taken.map((number) => number + 1));
    uid < range.first + range.count;
    uid += 1
  ) {
    if (!link(owner, join(folder, String(uid)))) continue;
    if (link(String(uid), join(folder, ownerName(owner)))) return uid;
    // somebody else was quicker for the same owner
    return allotUser(folder, owner, range);
  }
  throw appError("pod_failed", {
    detail: `All ${range.count} user ids from ${range.first} on were given to databases.`,
    hint: "Give the service a larger range of unused user ids: SERVICE_POD_USERS=FIRST:COUNT",
  });
}

/**
 * Forgets an owner that is no more and leaves no file. Its number is not given out again: of those without an owner the highest is
 * kept, and new ones are above it. Safe to repeat.
 */
export function retireUser(folder: string, owner: string): void {
  const known = readLink(join(folder, ownerName(owner)));
  if (known === undefined) return;
  const highest = Math.max(...readNumbers(folder));
  const unowned = readNumbers(folder).filter((number) => {
    const of = readLink(join(folder, String(number)));
    return of === owner || (of !== undefined && readLink(join(folder, ownerName(of))) !== String(number));
  });
  for (const number of unowned) if (number !== highest) rmSync(join(folder, String(number)), { force: true });
  rmSync(join(folder, ownerName(owner)), { force: true });
}

/** By whose name a task has its user. */
export function taskOwner({ labels, user }: Pick<PodTask, "labels" | "user">): string {
  return user === undefined ? `organization-${labels.organization_id}` : `service-${user}`;
}

function readNumbers(folder: string): number[] {
  return readdirSync(folder).flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

function ownerName(owner: string): string {
  return `of-${owner}`;
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** False when the name is taken. */
function link(target: string, path: string): boolean {
  try {
    symlinkSync(target, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
