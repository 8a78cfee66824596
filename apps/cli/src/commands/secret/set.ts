import { parseServiceName } from "@appdb/contract/names";
import type { ChangedSecret } from "@appdb/contract/routes/control";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { commandLine } from "../../output/command-line.ts";
import { text } from "../parameters.ts";
import { readValues } from "./read-values.ts";
import { PLACE, parseSecretAddress } from "./secret-address.ts";
import { sendEach } from "./send-each.ts";

interface Flags extends JsonFlag {
  readonly file?: string;
}

/** Exits with 2 for an invalid command line, before any request. */
export const set = defineCommand<Flags, string[], ChangedSecret[]>({
  brief: "Set secrets of a database or an organization",
  examples: [
    ["cli secret set cloud://acme:main OPENAI_API_KEY", "ask for the value without showing it"],
    ["cli secret set cloud://acme:main PRIVATE_KEY --file key.pem", "read it from a file"],
    ["pass show openai | cli secret set acme OPENAI_API_KEY", "read it from a pipe, for all databases of acme"],
    ["cli secret set cloud://acme:main REGION=eu TIER=gold", "several; a shell keeps these in its history"],
  ],
  parameters: {
    positional: {
      kind: "array",
      parameter: { brief: `${PLACE.brief}, then NAME or NAME=VALUE`, placeholder: "URI|ORG NAME[=VALUE]", parse: text },
      minimum: 2,
    },
    flags: {
      file: { kind: "parsed", parse: text, optional: true, brief: "Read the value from a file", placeholder: "path" },
    },
  },
  run: async (ctx, flags, typed, ...items) => {
    const { db, org, text: secretAddress } = parseSecretAddress(typed ?? "");
    const values = await readValues(ctx, items, flags.file);
    const { client } = await (await ctx.control()).open();
    const secrets = await sendEach(values, { done: "set", not_done: "not set" }, ({ name, value }) =>
      db === undefined
        ? client.call("secretSet", { params: { org, name }, body: { value } }, { signal: ctx.signal })
        : client.call("databaseSecretSet", { params: { org, db, name }, body: { value } }, { signal: ctx.signal }),
    );
    // pods read secrets when they start
    ctx.out.note(`next: ${commandLine(["db", "restart", db === undefined ? `${secretAddress}:main` : secretAddress])}`);
    const services = [...new Set(secrets.flatMap(({ restart }) => restart))];
    if (services.length > 0) await offerRestart(ctx, services);
    return secrets;
  },
  render: (secrets, out) => {
    for (const line of alignColumns(secrets.map(({ name, scope }) => [name, scope]))) out.line(line);
  },
});

/** Running services keep the secrets of their start. A user who declines or cannot be asked gets the command. */
async function offerRestart(
  ctx: Pick<Context, "control" | "daemon" | "out" | "prompt" | "signal">,
  services: readonly string[],
): Promise<void> {
  const question = `Restart ${services.join(", ")} to use the new value?`;
  if (ctx.prompt === undefined || !(await ctx.prompt.confirm(question))) {
    ctx.out.note(`then: ${commandLine(["service", "restart", ...services])}`);
    return;
  }
  const { changeHosted } = await import("../service/change-service.ts");
  for (const name of services) {
    await changeHosted(ctx, parseServiceName(name), "serviceRestart");
    ctx.out.note(`restarted  ${name}`);
  }
}
