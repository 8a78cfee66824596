import { appError } from "@appdb/contract/errors";
import type { Whoami } from "@appdb/contract/routes/control";
import type { Context, Control } from "../context.ts";
import { showControls } from "../output/show-controls.ts";
import { text } from "./parameters.ts";

/** Flags shared by commands of an organization. */
export const ORG_FLAG = {
  kind: "parsed",
  parse: text,
  optional: true,
  brief: "The organization; defaults to the session's",
  placeholder: "name",
} as const;

/** Describes the caller's organization, or how to get one. */
export function organizationLine({
  organization,
  organizations,
}: Pick<Whoami, "organization" | "organizations">): string {
  if (organization !== null) {
    const role = organization.role === null ? "" : ` (${organization.role})`;
    return `Organization: ${showControls(organization.name)}${role}`;
  }
  if (organizations === 0) return "No organization yet: create one with cli org create NAME";
  // The server knows organizations but assigned none to the session, so it is newer than this command.
  return `No organization yet, though you belong to ${organizations}: upgrade this library and run cli login again`;
}

/**
 * Opens the control plane with the organization of a command: the named one, otherwise the session's or the key's.
 * @throws not_signed_in, no_organization, and errors of the control plane
 */
export async function openOrganization(
  ctx: Context,
  named: string | undefined,
): Promise<Control & { readonly org: string }> {
  const control = await (await ctx.control()).open();
  if (named !== undefined) return { ...control, org: named };
  const { organization } = await control.client.call("whoami", {}, { signal: ctx.signal });
  if (organization !== null) return { ...control, org: organization.name };
  throw appError("no_organization", {
    detail: "No organization yet.",
    hint: "Create one: cli org create NAME   or select one of yours: --org NAME",
  });
}

/** All items of a list. */
export async function takeAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** The first items of a list, without requesting further pages. */
export async function takeFirst<T>(items: AsyncIterable<T>, max: number): Promise<T[]> {
  const first: T[] = [];
  for await (const item of items) {
    first.push(item);
    if (first.length === max) break;
  }
  return first;
}
