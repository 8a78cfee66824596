import type { ControlClient } from "@appdb/contract/clients/control-client";
import { AppError, appError } from "@appdb/contract/errors";
import { parseName } from "@appdb/contract/names";
import type { Org } from "@appdb/contract/routes/control";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { takeAll } from "../account.ts";
import { text } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly displayName?: string;
}

/** Switches the session to the new organization, whose database `main` is created in the background. */
export const create = defineCommand<Flags, [name: string], Org>({
  brief: "Create an organization with its database main",
  examples: [
    ["cli org create acme", "and switch the session to it"],
    ['cli org create acme --display-name "Acme Ltd" --json', "with a display name, for a program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        { brief: "Lower-case letters, digits and '-', at most 29 characters", placeholder: "NAME", parse: text },
      ],
    },
    flags: {
      displayName: { kind: "parsed", parse: text, optional: true, brief: "Display name", placeholder: "text" },
    },
  },
  run: async (ctx, flags, typed) => {
    const name = parseName("organization", typed);
    const { client, credential } = await (await ctx.control()).open();
    const displayName = flags.displayName === undefined ? {} : { display_name: flags.displayName };
    const org = await client
      .call("orgCreate", { body: { name, ...displayName } }, { signal: ctx.signal })
      .catch(async (error: unknown) => {
        throw await explainNameTaken(ctx, client, name, error);
      });
    if (credential.kind === "api_key") {
      ctx.out.note(
        `warning: the API key of ${credential.source} still belongs to the organization in which it was created.`,
      );
    }
    return org;
  },
  render: ({ id, name }, out) => {
    out.line(`${name}  id=${id}`);
    out.note(`Its database cloud://${name}:main is being created.`);
  },
});

/** If the taken name is an organization of the caller, suggests switching to it. */
async function explainNameTaken(
  ctx: Pick<Context, "signal">,
  client: ControlClient,
  name: string,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof AppError) || error.code !== "organization_taken") return error;
  const own = await takeAll(client.each("orgList", {}, { signal: ctx.signal }));
  if (!own.some((org) => org.name === name)) return error;
  return appError("organization_taken", {
    detail: `The organization ${name} exists, and you belong to it.`,
    hint: `Switch to it: cli org switch ${name}`,
    meta: error.meta,
    cause: error,
  });
}
