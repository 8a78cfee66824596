import { once } from "node:events";
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

/** The person whom the provider signs in next. */
export interface OidcPerson {
  readonly sub: string;
  readonly email: string;
  readonly email_verified: boolean;
  readonly name?: string;
}

export interface OidcServer extends AsyncDisposable {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: string;
  /** The person to sign in, without a prompt. */
  person: OidcPerson;
  /** Allows a redirect address, known once the server under test listens. */
  allow(redirectUri: string): void;
}

/** Starts a real, certified OIDC provider that signs in `person` without a page. */
export async function startOidcServer(person: OidcPerson): Promise<OidcServer> {
  const http = createServer();
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  if (address === null || typeof address === "string") throw new Error("The provider has no TCP port.");
  const issuer = `http://127.0.0.1:${address.port}`;
  const redirectUris: string[] = [];
  const [clientId, clientSecret] = ["appdb", "the provider's secret"];
  const oidc: OidcServer = {
    issuer,
    client_id: clientId,
    client_secret: clientSecret,
    person,
    allow: (redirectUri) => {
      redirectUris.push(redirectUri);
      http.removeAllListeners("request");
      http.on("request", serve(oidc, redirectUris));
    },
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };
  http.on("request", serve(oidc, ["http://127.0.0.1:1/none"]));
  return oidc;
}

function serve(oidc: OidcServer, redirectUris: string[]) {
  const { issuer, client_id: clientId, client_secret: clientSecret } = oidc;
  const provider = new Provider(issuer, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: redirectUris }],
    cookies: { keys: ["a key of the tests"] },
    ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
    pkce: { required: () => true },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_context, sub) => ({ accountId: sub, claims: async () => ({ ...oidc.person, sub }) }),
    loadExistingGrant: async ({ oidc: { session, client, provider: own } }) => {
      const grant = new own.Grant({ clientId: client?.clientId ?? "", accountId: session?.accountId ?? "" });
      grant.addOIDCScope("openid email profile");
      await grant.save();
      return grant;
    },
  });
  const handle = provider.callback();
  return async (request: Parameters<typeof handle>[0], response: Parameters<typeof handle>[1]) => {
    if (!request.url?.startsWith("/interaction/")) return await handle(request, response);
    await provider.interactionFinished(request, response, { login: { accountId: oidc.person.sub } });
  };
}
