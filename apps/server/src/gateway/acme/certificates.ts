import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { AppError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import type { Registry } from "prom-client";
import type { RecordEvent } from "../../audit/event.ts";
import type { Notifications } from "../../database/notifications.ts";
import type { Problem } from "../../health/problems.ts";
import type { RoutedDatabase, RoutingTable } from "../routing-table.ts";
import type { AcmeOrders, KeyedCertificate } from "./acme-orders.ts";
import { countCertificates } from "./certificate-metrics.ts";
import type { CertificateStore, CertifiedHost, HostChallenge, StoredCertificate } from "./certificate-store.ts";
import {
  createHostCertificates,
  type HostCertificates,
  readCertificateDates,
  type ShownCertificate,
} from "./host-certificates.ts";

export interface CertificatesDeps {
  readonly log: Logger;
  readonly domain: string;
  readonly table: RoutingTable;
  readonly store: CertificateStore;
  readonly orders: AcmeOrders;
  readonly notifications: Notifications;
  readonly metrics: Registry;
  readonly recordEvent: RecordEvent;
  /** What is shown until PostgreSQL was read, by host. */
  readonly kept?: Readonly<Record<string, KeyedCertificate>>;
  /** Called when another one is shown. */
  readonly keep?: (certificates: Readonly<Record<string, KeyedCertificate>>) => void;
  /** How soon an order that failed is tried again: doubled with each failure, up to the most. */
  readonly retry?: { readonly first_s: number; readonly most_s: number };
  /** ms since 1970: certificates begin and end by the day. */
  readonly now?: () => number;
}

export interface Certificates extends AsyncDisposable {
  readonly hosts: HostCertificates;
  /** What an authority is answered that asks for a token by http; undefined for one that was not given. */
  findToken(token: string): string | undefined;
  /** Orders what is needed by now; to be called when databases or their services change. */
  look(): void;
  /** What an operator has to know, without a name of a tenant. */
  problems(): Problem[];
}

const MOST_REASON = 1_000;
const RETRY = { first_s: 60, most_s: 21_600 } as const;
/** A notification that was lost, and a clock that was set, are made good for after this. */
const LOOK_MS = 30_000;
const LEAST_LOOK_MS = 50;
/** While another gateway orders. */
const OTHER_ORDERS_MS = 2_000;
/** Nobody waits longer for an authority. */
const ORDER_MS = 180_000;
/** Below the time that a client has for its handshake. */
const HANDSHAKE_WAIT_MS = 8_000;

/**
 * Keeps a certificate for each host below the domain that has a service: ordered when there is none, and again when two thirds of its life
 * are over, by a clock that nobody sets as well as by the day. What there is is shown until there is another, also when it has ended: a
 * client says so then, and says nothing that can be understood when nothing is shown.
 */
export async function startCertificates(deps: CertificatesDeps): Promise<Certificates> {
  const { domain, log, orders, store, table, now = Date.now } = deps;
  const wanted = () => wantedHosts(table, domain);
  const isExpected = (host: string) => (findByHost(table, domain, host)?.services.length ?? 0) > 0;
  const hosts = createHostCertificates({ isExpected, wait_ms: HANDSHAKE_WAIT_MS });
  const known = new Map<string, StoredCertificate>();
  /** By the database's id. */
  const asked = new Map<string, HostChallenge>();
  /** By the steady clock, when a host is looked at next. */
  const next = new Map<string, number>();
  const counts = countCertificates(deps.metrics, () => ({ hosts, wanted: wanted(), now: now() }));
  for (const [host, certificate] of Object.entries(deps.kept ?? {})) show(host, certificate);

  function show(host: string, certificate: KeyedCertificate): void {
    const shown = hosts.set(host, certificate);
    next.set(host, performance.now() + Math.max(0, renewAt(shown) - now()));
    deps.keep?.(Object.fromEntries([...hosts.all()].map(([name, { chain, key }]) => [name, { chain, key }])));
  }
  async function take(row: StoredCertificate): Promise<void> {
    const before = known.get(row.database_id);
    known.set(row.database_id, row);
    if (before?.version === row.version && before.host === row.host) return;
    if (before !== undefined && before.host !== row.host) hosts.forget(before.host);
    const key = await store.openKey(row);
    if (row.chain !== null && key !== undefined && hosts.get(row.host)?.chain !== row.chain) {
      show(row.host, { chain: row.chain, key: key.reveal() });
    }
    const former = asked.get(row.database_id);
    const { challenge } = row;
    if (former?.token === challenge?.token) return;
    if (former !== undefined) hosts.setProof(former.host, undefined);
    asked.delete(row.database_id);
    if (challenge === null) return;
    asked.set(row.database_id, challenge);
    hosts.setProof(challenge.host, await orders.makeProof(challenge.host, challenge));
  }
  // one after the other: what was read later is never overwritten by what was read before
  let reading: Promise<void> = Promise.resolve();
  let read_at = Number.NEGATIVE_INFINITY;
  function read(database_id?: string): Promise<void> {
    const done = reading.then(() => readNow(database_id));
    reading = done.catch(() => undefined);
    return done;
  }
  async function readNow(database_id: string | undefined): Promise<void> {
    const begun_at = performance.now();
    const rows = await store.read(database_id);
    for (const row of rows) await take(row);
    if (database_id !== undefined) return;
    read_at = begun_at;
    const there = new Set(rows.map((row) => row.database_id));
    for (const [id, { host }] of known) {
      if (there.has(id)) continue;
      known.delete(id);
      hosts.forget(host);
      next.delete(host);
    }
  }

  const isDue = ({ database_id, host }: CertifiedHost) => {
    const shown = hosts.get(host);
    if (performance.now() >= (next.get(host) ?? 0)) return true;
    if (shown === undefined) return false;
    const row = known.get(database_id);
    return row?.may_order !== false && (now() >= renewAt(shown) || (row !== undefined && !row.is_current));
  };
  let is_stopped = false;
  const orderOne = async (needed: CertifiedHost) => {
    const { database_id, host } = needed;
    const fields = { host, db: database_id };
    try {
      const account_key = await store.findAccountKey(orders.makeAccountKey);
      const made = await within(
        ORDER_MS,
        orders.order({
          ...{ account_key, host },
          show: async (challenge) => {
            await store.showChallenge(needed, challenge);
            await read(database_id);
          },
        }),
      );
      const { begins_at, ends_at } = readCertificateDates(made);
      await store.keep(needed, made, Math.floor((ends_at - begins_at) / 3_000));
      await read(database_id);
      counts.issued();
      log.info({ ...fields, ends_at: new Date(ends_at).toISOString() }, "a host has a new certificate");
    } catch (error) {
      if (is_stopped) return;
      counts.failed();
      const reason = error instanceof AppError ? error.message : String(error instanceof Error ? error.message : error);
      const shown_reason = hasCode(error) ? "The authority was not reached." : reason.slice(0, MOST_REASON);
      const wait_s = await store.fail(needed, shown_reason, deps.retry ?? RETRY, async (tx) => {
        const database = findByHost(table, domain, host);
        if (database === undefined) return;
        await deps.recordEvent(tx, {
          ...{ action: "certificate.failed", target: databaseUriOf(database.organization, database.name) },
          ...{ org_id: needed.org_id, actor: "system", principal: undefined, ip_address: null, client: null },
          ...{ outcome: "failed", detail: { host, reason: shown_reason } },
        });
      });
      next.set(host, performance.now() + wait_s * 1_000);
      await read(database_id);
      const shown = hosts.get(host);
      const told = {
        ...fields,
        reason,
        again_in_s: Math.round(wait_s),
        ends_at: shown && new Date(shown.ends_at).toISOString(),
      };
      if (shown === undefined) log.error(told, "a host has no certificate: none could be ordered");
      else if (shown.ends_at <= now())
        log.error(told, "a host's certificate has ended and could not be renewed: clients refuse it");
      else log.warn(told, "a host's certificate could not be renewed; the former one is shown");
    }
  };
  const round = async () => {
    if (is_stopped || !wanted().some(isDue)) return true;
    return await store.whileAlone(async () => {
      // another gateway may have been quicker
      await read();
      for (const needed of wanted().filter(isDue)) {
        if (is_stopped) return;
        const row = known.get(needed.database_id);
        if (row?.may_order === false && row.host === needed.host) next.set(needed.host, performance.now() + LOOK_MS);
        else await orderOne(needed);
      }
    });
  };

  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let is_asked = false;
  let is_lost = false;
  const look = () => {
    is_asked = true;
    running ??= run().finally(() => {
      running = undefined;
      if (is_asked && !is_stopped) look();
    });
  };
  const run = async () => {
    is_asked = false;
    clearTimeout(timer);
    let is_alone = true;
    try {
      if (is_lost || performance.now() - read_at > LOOK_MS) await read();
      is_alone = await round();
      is_lost = false;
    } catch (error) {
      if (!is_lost) log.warn({ err: error }, "certificates cannot be ordered: PostgreSQL does not answer");
      is_lost = true;
    }
    const soonest = Math.min(...wanted().map(({ host }) => next.get(host) ?? 0));
    const least = is_alone ? LEAST_LOOK_MS : OTHER_ORDERS_MS;
    const wait = is_lost ? LOOK_MS : Math.max(least, Math.min(LOOK_MS, soonest - performance.now()));
    if (!is_stopped) timer = setTimeout(look, wait);
  };
  const listen = () =>
    deps.notifications.listen("control_certificates", (id) => {
      read(id).catch((error: unknown) => {
        is_lost = true;
        log.warn({ err: error }, "certificates cannot be read: PostgreSQL does not answer");
      });
    });
  const stop = await listen().catch(() => undefined);
  await read().catch((error: unknown) => {
    is_lost = true;
    log.warn({ err: error }, "the gateway goes on with the certificates that it kept: PostgreSQL does not answer");
  });
  return {
    hosts,
    findToken: (token) => [...asked.values()].find((one) => one.token === token)?.key_authorization,
    look,
    problems: () => counts.problems(),
    async [Symbol.asyncDispose]() {
      is_stopped = true;
      clearTimeout(timer);
      stop?.();
      orders[Symbol.dispose]();
      await running;
      clearTimeout(timer);
    },
  };
}

/** Whose host it is: one label below the domain. */
function findByHost(table: Pick<RoutingTable, "byLabel">, domain: string, host: string): RoutedDatabase | undefined {
  return host.endsWith(`.${domain}`) ? table.byLabel(host.slice(0, -domain.length - 1)) : undefined;
}

/** A database without a service answers nobody. */
function wantedHosts(table: Pick<RoutingTable, "all">, domain: string): CertifiedHost[] {
  return [...table.all()]
    .filter(({ services }) => services.length > 0)
    .map(({ id, label, org_id }) => ({ database_id: id, org_id, host: `${label}.${domain}` }));
}

/** Of the network: such an error may name addresses within the operator's own, which the log has and nobody else. */
function hasCode(error: unknown): boolean {
  return error instanceof Error && !(error instanceof AppError) && "code" in error && error.code !== undefined;
}

/** At two thirds of its life. */
function renewAt({ begins_at, ends_at }: ShownCertificate): number {
  return begins_at + ((ends_at - begins_at) * 2) / 3;
}

async function within<T>(most_ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`The authority gave no answer within ${most_ms / 1_000} s.`)), most_ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
