import { AppError } from "@appdb/contract/errors";
import type { Context, ControlAccess } from "../../context.ts";
import type { Credential } from "../../control/find-credential.ts";
import type { ServerAddress } from "../../control/find-server.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";

interface LogoutResult {
  readonly server: string;
  /** False when nobody was signed in there. */
  readonly signed_out: boolean;
  /** Whether the server ended the session as well. */
  readonly revoked: boolean;
}

/** Forgets the sign-in whatever the server says: a machine that is given away must not keep it. */
export const logout = defineCommand<JsonFlag, [], LogoutResult>({
  brief: "End the sign-in of this machine",
  examples: [
    ["cli logout", "end the session at the server, and forget it here"],
    ["cli logout --json", "say whether the server ended it, for a program"],
  ],
  parameters: {},
  run: async (ctx) => {
    const access = await ctx.control();
    const server = await access.findServer();
    const signIn = access.findSignIn(server);
    if (signIn === undefined) return { server: server.url, signed_out: false, revoked: false };
    const revoked = await revoke(ctx, access, server, signIn);
    access.keepSignIn(server, undefined);
    const left = await access.findCredential(server);
    if (left?.kind === "api_key") ctx.out.note(`warning: commands go on with the API key of ${left.source}.`);
    return { server: server.url, signed_out: true, revoked };
  },
  render: ({ signed_out }, out) => out.line(signed_out ? "Signed out." : "Not signed in."),
});

/** Ends the session at the server. False, with a word to the person, when it could not be told. */
async function revoke(
  ctx: Context,
  access: ControlAccess,
  server: ServerAddress,
  signIn: Credential,
): Promise<boolean> {
  try {
    const client = access.connect(server, signIn);
    for await (const session of client.each("sessionList", {}, { signal: ctx.signal })) {
      if (!session.current) continue;
      await client.call("sessionRevoke", { params: { id: session.id } }, { signal: ctx.signal });
      return true;
    }
    return false;
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "interrupted") throw error;
    // One that has ended there already is what was wanted.
    if (error.code === "not_signed_in" || error.code === "session_not_found") return false;
    ctx.out.note(`warning: the server was not told, and keeps the session until it ends by itself: ${error.message}`);
    return false;
  }
}
