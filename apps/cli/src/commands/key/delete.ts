import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { showControls } from "../../output/show-controls.ts";
import { ORG_FLAG, openOrganization } from "../account.ts";
import { text } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly org?: string;
}

/** Requests with the key are refused from then on. */
export const deleteKey = defineCommand<Flags, [name: string], { readonly name: string }>({
  brief: "Delete an API key",
  examples: [
    ["cli key delete ci", "it is refused from now on"],
    ["cli key delete ci --org acme --json", "the key of that organization, for a program"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [{ brief: "The key", placeholder: "NAME", parse: text }] },
    flags: { org: ORG_FLAG },
  },
  run: async (ctx, flags, name) => {
    const { client, org } = await openOrganization(ctx, flags.org);
    await client.call("keyDelete", { params: { org, name } }, { signal: ctx.signal });
    return { name };
  },
  render: ({ name }, out) => out.line(`deleted  ${showControls(name)}`),
});
