import type { Whoami } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import type { Output } from "../../output/output.ts";
import { showControls } from "../../output/show-controls.ts";
import { organizationLine } from "../account.ts";

interface WhoamiResult extends Whoami {
  readonly server: { readonly url: string; readonly source: string };
  readonly credential: { readonly kind: "api_key" | "session"; readonly source: string };
}

/** Exits with 1 without a credential, or when it is not accepted. */
export const whoami = defineCommand<JsonFlag, [], WhoamiResult>({
  brief: "Show the current identity, credential and server",
  examples: [
    ["cli whoami", "identity, organization, and the sources of credential and server"],
    ["cli whoami --json", "the same for a program; never a secret"],
  ],
  parameters: {},
  run: async (ctx) => {
    const { client, credential, server } = await (await ctx.control()).open();
    const who = await client.call("whoami", {}, { signal: ctx.signal });
    return {
      ...who,
      server: { url: server.url, source: server.source },
      credential: { kind: credential.kind, source: credential.source },
    };
  },
  render: (result, out) => {
    const { credential, key, server } = result;
    if (key === null) out.line(`${showControls(result.email ?? result.name ?? "?")} on ${server.url}`);
    else printKey(key, result, out);
    out.line(organizationLine(result));
    const what = credential.kind === "api_key" ? "the API key" : "the sign-in";
    out.line(`Commands use ${what} of ${credential.source}; the server is from ${server.source}.`);
  },
});

function printKey(key: NonNullable<Whoami["key"]>, { email, server }: WhoamiResult, out: Output): void {
  out.line(`API key ${showControls(key.name)} on ${server.url}`);
  if (key.grants.length === 0) out.line(`It acts as ${showControls(email ?? "its creator")}.`);
  for (const grant of key.grants) out.line(`It may ${showControls(grant)}`);
}
