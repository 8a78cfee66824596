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

/** Code and address go to stderr, so that a program without a terminal can show them to its user. */
export const login = defineCommand<Flags, [], LoginResult>({
  brief: "Sign in by confirming a code in a browser",
  examples: [
    ["cli login", "show a code, open the browser, wait until it is confirmed"],
    ["cli login --server https://cloud.example.com", "sign in there, and use that server for all commands"],
    ["cli login --json --no-browser", "for a program: code and address on stderr"],
  ],
  parameters: {
    flags: {
      server: {
        kind: "parsed",
        parse: parseServerUrl,
        optional: true,
        brief: "Address of the server; stored in the home's config.toml",
        placeholder: "url",
      },
      noBrowser: { kind: "boolean", brief: "Do not open a browser", default: false, withNegated: false },
    },
  },
  run: async (ctx, flags) => {
    const access = await ctx.control();
    const server =
      flags.server === undefined
        ? await access.findServer()
        : { url: flags.server, source: "--server", is_running: true };
    if (isInsecureRemote(server.url)) {
      ctx.out.note(`warning: ${server.url} is not https: anyone who sees the traffic can take over the sign-in.`);
    }
    const { token, credential } = await access.signIn(server, listenerOf(ctx, flags, access.openBrowser));
    const who = await access.connect(server, credential).call("whoami", {}, { signal: ctx.signal });
    const session = { token, email: who.email ?? "", signed_in_at: new Date().toISOString() };
    const previous = access.keepSignIn(server, session);
    // the session could not be ended later, because its token is removed here
    if (previous !== undefined) await endSession(ctx, access.connect, server, previous);
    if (flags.server !== undefined) await storeServerAddress(ctx, flags.server);
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
      ctx.out.status(`Waiting up to ${Math.max(1, Math.round(expiresInS / 60))} minutes. Press Ctrl-C to cancel.`);
      if (!flags.noBrowser && !flags.json && ctx.prompt !== undefined && ctx.config.has_display) openBrowser(url);
    },
    onRetry: (reason) => ctx.out.note(`The server did not respond (${reason}). Trying again.`),
  };
}

/** The sign-in is complete and stored. An invalid configuration here is reported and fails the next command. */
async function warnOfKey(ctx: Context, access: ControlAccess, server: ControlPlaneAddress): Promise<void> {
  try {
    const used = await access.findCredential(server);
    if (used?.kind !== "api_key") return;
    ctx.out.note(`warning: commands use the API key of ${used.source}, which overrides a sign-in.`);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    ctx.out.note(`warning: ${error.message}`);
  }
}

async function storeServerAddress(ctx: Context, url: string): Promise<void> {
  const file = await (await ctx.control()).keepServer(url);
  ctx.out.note(`Commands talk to ${url} from now on (${file}).`);
  if (ctx.config.api_url !== undefined) {
    ctx.out.note(`warning: SERVICE_API_URL is set to ${ctx.config.api_url}, which overrides it.`);
  }
}

function isInsecureRemote(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
