import { mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { PodTask } from "./task-runner.ts";

/** A range of user ids that nothing else on the machine uses. */
export interface UserRange {
  readonly first: number;
  readonly count: number;
}

/** Default range of user ids for databases and organizations. */
export const POD_USERS: UserRange = { first: 200_000, count: 100_000 };

/**
 * User id of an owner (a database or an organization). An id is never reused, so that a leftover file never becomes
 * another owner's. `folder` stores two links, each created exclusively: number to owner, then owner to number. A start
 * killed between both takes another number next time.
 * @throws pod_failed when the range is exhausted
 */
export function allotUser(folder: string, owner: string, range: UserRange): number {
  const known = readLink(join(folder, ownerName(owner)));
  if (known !== undefined) return Number(known);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const usedNumbers = readNumbers(folder);
  for (
    let uid = Math.max(range.first, ...usedNumbers.map((number) => number + 1));
    uid < range.first + range.count;
    uid += 1
  ) {
    if (!link(owner, join(folder, String(uid)))) continue;
    if (link(String(uid), join(folder, ownerName(owner)))) return uid;
    // a concurrent call for the same owner was faster
    return allotUser(folder, owner, range);
  }
  throw appError("pod_failed", {
    detail: `All ${range.count} user ids from ${range.first} on were given to databases.`,
    hint: "Give the service a larger range of unused user ids: SERVICE_POD_USERS=FIRST:COUNT",
  });
}

/**
 * Removes an owner that has no files left. Its number is not reused: the highest number without an owner stays
 * recorded, and new ones are above it. Safe to repeat.
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

/** Owner name of a task's user. */
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
