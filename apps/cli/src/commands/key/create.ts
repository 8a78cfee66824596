import { parseGrant } from "@appdb/contract/control/grants";
import { parseKeyName } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { CreatedKey } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import type { Output } from "../../output/output.ts";
import { showControls } from "../../output/show-controls.ts";
import { ORG_FLAG, openOrganization } from "../account.ts";
import { parseDurationUpTo, text } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly grant?: readonly string[];
  readonly expires?: number;
  readonly org?: string;
}

/** Exits with 2 for an invalid grant, before any request. */
export const create = defineCommand<Flags, [name: string], CreatedKey>({
  brief: "Create an API key; its secret is printed once",
  examples: [
    ["cli key create ci", "a key that acts as you"],
    [
      "cli key create edge --grant access:cloud://acme:main/services/ingest",
      "a key that may call one service and nothing else",
    ],
    ["cli key create nightly --expires 90d --json", "expires automatically, for a program"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [{ brief: "Name of the key", placeholder: "NAME", parse: text }] },
    flags: {
      grant: {
        kind: "parsed",
        parse: text,
        variadic: true,
        optional: true,
        brief: "A permission, may be repeated: access|manage:cloud://org:db[/services[/name]]",
        placeholder: "grant",
      },
      expires: {
        kind: "parsed",
        parse: parseDurationUpTo(3_650),
        optional: true,
        brief: "Lifetime: 30m, 12h, 90d; unlimited by default",
        placeholder: "time",
      },
      org: ORG_FLAG,
    },
  },
  run: async (ctx, flags, typed) => {
    const name = parseKeyName(typed);
    const grants = (flags.grant ?? []).map(parseGrant);
    const org = organizationOf(grants, flags.org);
    const control = await openOrganization(ctx, org);
    const body = { name, grants: grants.map((grant) => grant.text), expires_in_s: flags.expires ?? null };
    const created = await control.client.call(
      "keyCreate",
      { params: { org: control.org }, body },
      { signal: ctx.signal },
    );
    // the session may use another organization, whose keys are listed without --org
    if (org !== undefined && flags.org === undefined) {
      ctx.out.note(
        `The key belongs to ${org}, the organization of its grants: ${commandLine(["key", "list", "--org", org])}`,
      );
    }
    return created;
  },
  render: (key, out) => {
    out.line(`${showControls(key.name)}  (${describePermissions(key)})`);
    printSecret(key, out);
  },
});

/** Describes a key's permissions. */
export function describePermissions({
  grants,
  created_by: createdBy,
}: Pick<CreatedKey, "grants" | "created_by">): string {
  return showControls(grants.length === 0 ? `acts as ${createdBy ?? "its creator"}` : grants.join(", "));
}

/** Prints the secret, which is shown only once, alone on the last line so that scripts can read it. */
export function printSecret(key: CreatedKey, out: Output): void {
  if (key.expires_at !== null) out.line(`It expires at ${key.expires_at}.`);
  out.line();
  out.line("API key (shown once, store it now):");
  out.line(key.api_key);
}

/**
 * The organization of the grants, to which the key belongs.
 * @throws usage when they name several, or another than the given one
 */
function organizationOf(grants: readonly { organization: string }[], named: string | undefined): string | undefined {
  const all = new Set([...(named === undefined ? [] : [named]), ...grants.map((grant) => grant.organization)]);
  const [first, second] = all;
  if (second === undefined) return first;
  throw appError("usage", {
    detail: `A key belongs to one organization, and this command names ${[...all].join(" and ")}.`,
    hint: "Create a key in each: cli key create NAME --grant ...",
  });
}
