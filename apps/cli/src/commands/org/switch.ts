import { appError } from "@appdb/contract/errors";
import { parseName } from "@appdb/contract/names";
import type { Whoami } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { organizationLine } from "../account.ts";
import { text } from "../parameters.ts";

/** For users with several organizations. A key always belongs to one. */
export const switchTo = defineCommand<JsonFlag, [name: string], Whoami>({
  brief: "Switch organization",
  examples: [
    ["cli org switch acme", "commands without --org work in acme"],
    ["cli org switch acme --json", "the same, for a program"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [{ brief: "The organization", placeholder: "NAME", parse: text }] },
  },
  run: async (ctx, _flags, typed) => {
    const organization = parseName("organization", typed);
    const { client, credential } = await (await ctx.control()).open();
    if (credential.kind === "api_key") {
      throw appError("no_organization", {
        detail: `Commands use the API key of ${credential.source}, which belongs to the organization in which it was created.`,
        hint: `Name the organization in each command: --org ${organization}   or sign in: cli login`,
      });
    }
    return await client.call("sessionSwitch", { body: { organization } }, { signal: ctx.signal });
  },
  render: (who, out) => out.line(organizationLine(who)),
});
