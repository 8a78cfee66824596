import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import { rootCertificates } from "node:tls";
import type { Authorization } from "acme-client";
import type { AcmeConfig } from "../../config/config-gateway.ts";

/** How an authority validates a host: a request to port 80, or a TLS handshake with its own protocol. */
export type ChallengeKind = "http-01" | "tls-alpn-01";

/** The expected response to a validation. */
export interface Challenge {
  readonly token: string;
  readonly key_authorization: string;
}

/** Both in PEM. */
export interface KeyedCertificate {
  readonly chain: string;
  readonly key: string;
}

export interface OrderInput {
  /** PEM. */
  readonly account_key: string;
  readonly host: string;
  /** Publishes the challenge to all gateways before the authority checks. */
  show(challenge: Challenge): Promise<void>;
}

/** An authority that issues certificates (RFC 8555). */
export interface AcmeOrders extends Disposable {
  makeAccountKey(): Promise<string>;
  /** Orders a certificate for one host and resolves with it. Throws the authority's error otherwise. */
  order(input: OrderInput): Promise<KeyedCertificate>;
  /** Creates the certificate for a validation handshake (RFC 8737). */
  makeProof(host: string, challenge: Challenge): Promise<KeyedCertificate>;
}

const REQUEST_MS = 20_000;
/** Pauses between polls of the authority: the minimum, doubled up to the maximum. */
const POLL = { backoffAttempts: 10, backoffMin: 250, backoffMax: 15_000 } as const;
const CURVE = "P-256";

/** Creates the client of the configured authority without a request. */
export async function openAcmeOrders(config: AcmeConfig): Promise<AcmeOrders> {
  const { Client, axios, crypto } = await import("acme-client");
  // a private authority, in addition to Node's
  const ca = config.ca_file === undefined ? {} : { ca: [...rootCertificates, readFileSync(config.ca_file, "utf8")] };
  const agent = new Agent({ ...ca, keepAlive: true });
  // for the whole process: nothing else uses axios here. Failed orders are retried later, outside of requests
  Object.assign(axios.defaults, { httpsAgent: agent, timeout: REQUEST_MS });
  Object.assign(axios.defaults, { acmeSettings: { retryMaxAttempts: 1, retryDefaultDelay: 1 } });
  const kinds: readonly ChallengeKind[] = config.http_port === undefined ? ["tls-alpn-01"] : ["http-01", "tls-alpn-01"];
  const { email, eab } = config;
  const binding = eab && { externalAccountBinding: { kid: eab.kid, hmacKey: eab.key.reveal() } };
  const clients = new Map<string, Promise<InstanceType<typeof Client>>>();
  const open = async (accountKey: string) => {
    const client = new Client({ directoryUrl: config.directory, accountKey, ...binding, ...POLL });
    // returns an existing account unchanged
    await client.createAccount({
      termsOfServiceAgreed: true,
      ...(email === undefined ? {} : { contact: [`mailto:${email}`] }),
    });
    return client;
  };
  const findClient = async (account_key: string) => {
    const client = clients.get(account_key) ?? open(account_key);
    clients.set(account_key, client);
    try {
      return await client;
    } catch (error) {
      clients.delete(account_key);
      throw error;
    }
  };
  return {
    makeAccountKey: async () => (await crypto.createPrivateEcdsaKey(CURVE)).toString(),
    async order({ account_key, host, show }) {
      const client = await findClient(account_key);
      const order = await client.createOrder({ identifiers: [{ type: "dns", value: host }] });
      for (const authorization of await client.getAuthorizations(order)) {
        // still valid from a recent validation
        if (authorization.status === "valid") continue;
        const challenge = pickChallenge(authorization, kinds);
        await show({
          token: challenge.token,
          key_authorization: await client.getChallengeKeyAuthorization(challenge),
        });
        await client.completeChallenge(challenge);
        await client.waitForValidStatus(challenge);
      }
      const [key, request] = await crypto.createCsr({ altNames: [host] }, await crypto.createPrivateEcdsaKey(CURVE));
      const chain = await client.getCertificate(await client.finalizeOrder(order, request));
      return { chain, key: key.toString() };
    },
    async makeProof(host, { key_authorization: keyAuthorization }) {
      const authorization = { identifier: { type: "dns", value: host } } as Authorization;
      const own = await crypto.createPrivateEcdsaKey(CURVE);
      const [key, chain] = await crypto.createAlpnCertificate(authorization, keyAuthorization, own);
      return { chain: chain.toString(), key: key.toString() };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

function pickChallenge({ challenges }: Authorization, kinds: readonly ChallengeKind[]) {
  for (const kind of kinds) {
    const found = challenges.find(({ type }) => type === kind);
    if (found !== undefined) return found;
  }
  const offered = challenges.map(({ type }) => type).join(", ");
  throw new Error(`The authority validates hosts only by ${offered}, not by ${kinds.join(" or ")}.`);
}
