import { endSession } from "../../control/end-session.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";

interface LogoutResult {
  readonly server: string;
  /** False when there was no sign-in. */
  readonly signed_out: boolean;
  /** Whether the server ended the session too. */
  readonly revoked: boolean;
}

/** Removes the sign-in whatever the server answers, because a machine that changes hands must not keep it. */
export const logout = defineCommand<JsonFlag, [], LogoutResult>({
  brief: "Sign out on this machine",
  examples: [
    ["cli logout", "end the session at the server and remove it here"],
    ["cli logout --json", "report whether the server ended it, for a program"],
  ],
  parameters: {},
  run: async (ctx) => {
    const access = await ctx.control();
    const server = await access.findServer();
    const signIn = access.findSignIn(server);
    if (signIn === undefined) return { server: server.url, signed_out: false, revoked: false };
    const revoked = await endSession(ctx, access.connect, server, signIn);
    access.keepSignIn(server, undefined);
    const credential = await access.findCredential(server);
    if (credential?.kind === "api_key")
      ctx.out.note(`warning: commands continue to use the API key of ${credential.source}.`);
    return { server: server.url, signed_out: true, revoked };
  },
  render: ({ signed_out: signedOut }, out) => out.line(signedOut ? "Signed out." : "Not signed in."),
});
