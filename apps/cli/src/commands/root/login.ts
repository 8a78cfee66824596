import { AppError } from "@appdb/contract/errors";
import type { Whoami } from "@appdb/contract/routes/control";
import type { Context, ControlAccess, SignInListener } from "../../context.ts";
import { endSession } from "../../control/end-session.ts";
import { type ControlPlaneAddress, parseServerUrl } from "../../control/find-server.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { showControls } from "../../output/show-controls.ts";
import { organizationLine } from "../account.ts";

interface Flags extends JsonFlag {
  readonly server?: string;
  readonly noBrowser: boolean;
}

interface LoginResult extends Pick<Whoami, "email" | "name" | "organization" | "organizations" | "expires_at"> {
  readonly server: string;
}

/** The code and the address go to stderr: a program that runs this without a terminal can show them to somebody. */
export const login = defineCommand<Flags, [], LoginResult>({
  brief: "Sign in by confirming a code in a browser",
  examples: [
    ["cli login", "show a code, open the browser, wait until it is confirmed"],
    ["cli login --server https://cloud.example.com", "sign in there, and have all commands talk to it"],
    ["cli login --json --no-browser", "for a program: code and address on stderr"],
  ],
  parameters: {
    flags: {
      server: {
        kind: "parsed",
        parse: parseServerUrl,
        optional: true,
        brief: "Address of the server; kept in the home's config.toml",
        placeholder: "url",
      },
      noBrowser: { kind: "boolean", brief: "Open no browser", default: false, withNegated: false },
    },
  },
  run: async (ctx, flags) => {
    const access = await ctx.control();
    const server =
      flags.server === undefined
        ? await access.findServer()
        : { url: flags.server, source: "--server", is_running: true };
    if (isPlainAndFar(server.url)) {
      ctx.out.note(`warning: ${server.url} is not https: anyone who sees the traffic can take over the sign-in.`);
    }
    const { token, credential } = await access.signIn(server, listenerOf(ctx, flags, access.openBrowser));
    const who = await access.connect(server, credential).call("whoami", {}, { signal: ctx.signal });
    const session = { token, email: who.email ?? "", signed_in_at: new Date().toISOString() };
    const former = access.keepSignIn(server, session);
    // nobody could end it later: its token is gone from here
    if (former !== undefined) await endSession(ctx, access.connect, server, former);
    if (flags.server !== undefined) await keepServer(ctx, flags.server);
    await warnOfKey(ctx, access, server);
    const { email, name, organization, organizations, expires_at: expiresAt } = who;
    return { server: server.url, email, name, organization, organizations, expires_at: expiresAt };
  },
  render: (result, out) => {
    out.line(`Signed in as ${showControls(result.email ?? result.name ?? "")}.`);
    out.line(organizationLine(result));
  },
});

function listenerOf(ctx: Context, flags: Flags, openBrowser: (url: string) => void): SignInListener {
  return {
    onCode: ({ user_code: userCode, url, expires_in_s: expiresInS }) => {
      ctx.out.note(`Your code is ${showControls(userCode)}`);
      ctx.out.note(`Confirm it at ${showControls(url)}`);
      ctx.out.status(
        `Waiting for that, for ${Math.max(1, Math.round(expiresInS / 60))} minutes at most. Ctrl-C ends it.`,
      );
      if (!flags.noBrowser && !flags.json && ctx.prompt !== undefined && ctx.config.has_display) openBrowser(url);
    },
    onRetry: (reason) => ctx.out.note(`The server did not answer (${reason}); it is asked again.`),
  };
}

/** The sign-in is done and kept: what is wrong with a configuration here is said, and fails the next command. */
async function warnOfKey(ctx: Context, access: ControlAccess, server: ControlPlaneAddress): Promise<void> {
  try {
    const used = await access.findCredential(server);
    if (used?.kind !== "api_key") return;
    ctx.out.note(`warning: commands use the API key of ${used.source}, which goes before a sign-in.`);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    ctx.out.note(`warning: ${error.message}`);
  }
}

async function keepServer(ctx: Context, url: string): Promise<void> {
  const file = await (await ctx.control()).keepServer(url);
  ctx.out.note(`Commands talk to ${url} from now on (${file}).`);
  if (ctx.config.api_url !== undefined) {
    ctx.out.note(`warning: SERVICE_API_URL is set to ${ctx.config.api_url}, which goes before that.`);
  }
}

function isPlainAndFar(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
