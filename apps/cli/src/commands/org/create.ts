import { parseName } from "@appdb/contract/names";
import type { Org } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { text } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly displayName?: string;
}

/** The session works in the new organization from then on; its database `main` is made in the background. */
export const create = defineCommand<Flags, [name: string], Org>({
  brief: "Create an organization with its database main",
  examples: [
    ["cli org create acme", "and have the session work in it"],
    ['cli org create acme --display-name "Acme Ltd" --json', "with a name for people, for a program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        { brief: "Lower-case letters, digits and '-', at most 29 characters", placeholder: "NAME", parse: text },
      ],
    },
    flags: {
      displayName: { kind: "parsed", parse: text, optional: true, brief: "How people see it", placeholder: "text" },
    },
  },
  run: async (ctx, flags, typed) => {
    const name = parseName("organization", typed);
    const { client, credential } = await (await ctx.control()).open();
    const display_name = flags.displayName === undefined ? {} : { display_name: flags.displayName };
    const org = await client.call("orgCreate", { body: { name, ...display_name } }, { signal: ctx.signal });
    if (credential.kind === "api_key") {
      ctx.out.note(`warning: the API key of ${credential.source} stays in the organization that it was made in.`);
    }
    return org;
  },
  render: ({ id, name }, out) => {
    out.line(`${name}  id=${id}`);
    out.note(`Its database cloud://${name}:main is being made.`);
  },
});
