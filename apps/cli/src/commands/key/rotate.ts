import type { CreatedKey } from "@appdb/contract/routes/control";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { showControls } from "../../output/show-controls.ts";
import { ORG_FLAG, openOrganization } from "../account.ts";
import { parseDurationUpTo, text } from "../parameters.ts";
import { describePermissions, printSecret } from "./create.ts";

interface Flags extends JsonFlag {
  readonly overlap?: number;
  readonly org?: string;
}

/** Name, grants and expiry stay. The previous secret expires now, or after the overlap. */
export const rotate = defineCommand<Flags, [name: string], CreatedKey>({
  brief: "Give an API key a new secret",
  examples: [
    ["cli key rotate ci", "the previous secret expires now"],
    ["cli key rotate ci --overlap 1h", "both are accepted for an hour"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [{ brief: "The key", placeholder: "NAME", parse: text }] },
    flags: {
      overlap: {
        kind: "parsed",
        parse: parseDurationUpTo(30),
        optional: true,
        brief: "How long the previous secret stays valid: 30m, 1h",
        placeholder: "time",
      },
      org: ORG_FLAG,
    },
  },
  run: async (ctx, flags, name) => {
    const { client, org } = await openOrganization(ctx, flags.org);
    const body = { overlap_s: flags.overlap ?? 0 };
    return await client.call("keyRotate", { params: { org, name }, body }, { signal: ctx.signal });
  },
  render: (key, out) => {
    out.line(`${showControls(key.name)}  (${describePermissions(key)})`);
    out.line(
      key.previous_until === null
        ? "The previous secret is no longer valid."
        : `The previous secret is valid until ${key.previous_until}.`,
    );
    printSecret(key, out);
  },
});
