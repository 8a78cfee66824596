import type { SecretEntry } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { showControls } from "../../output/show-controls.ts";
import { openOrganization, takeAll } from "../account.ts";
import { text } from "../parameters.ts";
import { PLACE, parseSecretAddress } from "./secret-address.ts";

/** Prints names only: values cannot be read back. */
export const list = defineCommand<JsonFlag, [place?: string], SecretEntry[]>({
  brief: "List the names of secrets",
  examples: [
    ["cli secret list cloud://acme:main", "the database's and the organization's secrets"],
    ["cli secret list", "secrets of the session's organization"],
    ["cli secret list acme --json", "secrets of the organization acme, for a program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ ...PLACE, brief: `${PLACE.brief}; defaults to the session's`, parse: text, optional: true }],
    },
  },
  run: async (ctx, _flags, typed) => {
    const secretAddress = typed === undefined ? undefined : parseSecretAddress(typed);
    const { client, org } = await openOrganization(ctx, secretAddress?.org);
    const options = { signal: ctx.signal };
    return await takeAll(
      secretAddress?.db === undefined
        ? client.each("secretList", { params: { org } }, options)
        : client.each("databaseSecretList", { params: { org, db: secretAddress.db } }, options),
    );
  },
  render: (secrets, out) => {
    if (secrets.length === 0) out.line("No secrets.");
    const rows = secrets.map(({ name, scope, overrides_organization: overridesOrganization }) => [
      showControls(name),
      scope,
      overridesOrganization ? "overrides an organization secret" : "",
    ]);
    for (const line of alignColumns(rows)) out.line(line);
  },
});
