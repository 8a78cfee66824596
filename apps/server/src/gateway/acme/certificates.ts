import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { AppError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import type { Registry } from "prom-client";
import { BY_SYSTEM, type RecordEvent } from "../../audit/event.ts";
import type { Notifications } from "../../database/notifications.ts";
import type { HealthProblem } from "../../health/problems.ts";
import type { RoutedDatabase, RoutingTable } from "../routing/routing-table.ts";
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
  /** Certificates by host, used until PostgreSQL was read. */
  readonly stored?: Readonly<Record<string, KeyedCertificate>>;
  /** Called when a certificate changes. */
  readonly keep?: (certificates: Readonly<Record<string, KeyedCertificate>>) => void;
  /** Delay before a failed order is retried, doubled with each failure up to the maximum. */
  readonly retry?: { readonly first_s: number; readonly max_s: number };
  /** Time in ms since 1970, for validity periods. */
  readonly now?: () => number;
}

export interface Certificates extends AsyncDisposable {
  readonly hosts: HostCertificates;
  /** The response to an http-01 request. Undefined for an unknown token. */
  findToken(token: string): string | undefined;
  /** Orders missing certificates. Call it when databases or their services change. */
  reload(): void;
  /** Problems for the operator, without names of tenants. */
  problems(): HealthProblem[];
}

const MAX_REASON = 1_000;
const RETRY = { first_s: 60, max_s: 21_600 } as const;
/** Recovers from lost notifications and changed clocks. */
const LOOK_MS = 30_000;
const MIN_POLL_MS = 50;
/** Poll interval while another gateway orders. */
const OTHER_ORDERS_MS = 2_000;
/** Maximum duration of an order. */
const ORDER_MS = 180_000;
/** Less than a client's handshake timeout. */
const HANDSHAKE_WAIT_MS = 8_000;

/**
 * Keeps a certificate for each host with a service: orders a missing one, and renews it after two thirds of its life.
 * Renewal uses a monotonic clock in addition to the date. An expired certificate stays in use until it is replaced,
 * because clients then show a clear error.
 */
export async function startCertificates(deps: CertificatesDeps): Promise<Certificates> {
  const { domain, log, orders, store, table, now = Date.now } = deps;
  const desiredHosts = () => certifiedHosts(table, domain);
  const isExpected = (host: string) => (findByHost(table, domain, host)?.services.length ?? 0) > 0;
  const hosts = createHostCertificates({ isExpected, wait_ms: HANDSHAKE_WAIT_MS });
  const known = new Map<string, StoredCertificate>();
  /** By the database's id. */
  const challenges = new Map<string, HostChallenge>();
  /** When each host is checked next, by the monotonic clock. */
  const next = new Map<string, number>();
  const counts = countCertificates(deps.metrics, () => ({ hosts, desiredHosts: desiredHosts(), now: now() }));
  for (const [host, certificate] of Object.entries(deps.stored ?? {})) show(host, certificate);

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
    const previous = challenges.get(row.database_id);
    const { challenge } = row;
    if (previous?.token === challenge?.token) return;
    if (previous !== undefined) hosts.setProof(previous.host, undefined);
    challenges.delete(row.database_id);
    if (challenge === null) return;
    challenges.set(row.database_id, challenge);
    hosts.setProof(challenge.host, await orders.makeProof(challenge.host, challenge));
  }
  // one read at a time: an older result must not replace a newer one
  let reading: Promise<void> = Promise.resolve();
  let readAt = Number.NEGATIVE_INFINITY;
  function read(databaseId?: string): Promise<void> {
    const done = reading.then(() => readNow(databaseId));
    reading = done.catch(() => undefined);
    return done;
  }
  async function readNow(databaseId: string | undefined): Promise<void> {
    const begunAt = performance.now();
    const rows = await store.read(databaseId);
    for (const row of rows) await take(row);
    if (databaseId !== undefined) return;
    readAt = begunAt;
    const there = new Set(rows.map((row) => row.database_id));
    for (const [id, { host }] of known) {
      if (there.has(id)) continue;
      known.delete(id);
      hosts.forget(host);
      next.delete(host);
    }
  }

  const isDue = ({ database_id: databaseId, host }: CertifiedHost) => {
    const shown = hosts.get(host);
    if (performance.now() >= (next.get(host) ?? 0)) return true;
    if (shown === undefined) return false;
    const row = known.get(databaseId);
    return row?.may_order !== false && (now() >= renewAt(shown) || (row !== undefined && !row.is_current));
  };
  let isStopped = false;
  const orderOne = async (needed: CertifiedHost) => {
    const { database_id: databaseId, host } = needed;
    const fields = { host, db: databaseId };
    try {
      const accountKey = await store.findAccountKey(orders.makeAccountKey);
      const ordered = await withTimeout(
        ORDER_MS,
        orders.order({
          account_key: accountKey,
          host,
          show: async (challenge) => {
            await store.showChallenge(needed, challenge);
            await read(databaseId);
          },
        }),
      );
      const { begins_at: beginsAt, ends_at: endsAt } = readCertificateDates(ordered);
      await store.store(needed, ordered, Math.floor((endsAt - beginsAt) / 3_000));
      await read(databaseId);
      counts.issued();
      log.info({ ...fields, ends_at: new Date(endsAt).toISOString() }, "a host has a new certificate");
    } catch (error) {
      if (isStopped) return;
      counts.failed();
      const reason = error instanceof AppError ? error.message : String(error instanceof Error ? error.message : error);
      const shownReason = hasCode(error) ? "The authority could not be reached." : reason.slice(0, MAX_REASON);
      const waitS = await store.fail(needed, shownReason, deps.retry ?? RETRY, async (tx) => {
        const database = findByHost(table, domain, host);
        if (database === undefined) return;
        await deps.recordEvent(tx, {
          action: "certificate.failed",
          target: databaseUriOf(database.organization, database.name),
          org_id: needed.org_id,
          ...BY_SYSTEM,
          outcome: "failed",
          detail: { host, reason: shownReason },
        });
      });
      next.set(host, performance.now() + waitS * 1_000);
      await read(databaseId);
      const shown = hosts.get(host);
      const told = {
        ...fields,
        reason,
        again_in_s: Math.round(waitS),
        ends_at: shown && new Date(shown.ends_at).toISOString(),
      };
      if (shown === undefined) log.error(told, "a host has no certificate: the order failed");
      else if (shown.ends_at <= now())
        log.error(told, "a host's certificate has expired and could not be renewed: clients refuse it");
      else log.warn(told, "a host's certificate could not be renewed; the previous one stays in use");
    }
  };
  const round = async () => {
    if (isStopped || !desiredHosts().some(isDue)) return true;
    return await store.withExclusiveLock(async () => {
      // another gateway may have been faster
      await read();
      for (const needed of desiredHosts().filter(isDue)) {
        if (isStopped) return;
        const row = known.get(needed.database_id);
        if (row?.may_order === false && row.host === needed.host) next.set(needed.host, performance.now() + LOOK_MS);
        else await orderOne(needed);
      }
    });
  };

  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isRequested = false;
  let isLost = false;
  const reload = () => {
    isRequested = true;
    running ??= run().finally(() => {
      running = undefined;
      if (isRequested && !isStopped) reload();
    });
  };
  const run = async () => {
    isRequested = false;
    clearTimeout(timer);
    let isAlone = true;
    try {
      if (isLost || performance.now() - readAt > LOOK_MS) await read();
      isAlone = await round();
      isLost = false;
    } catch (error) {
      if (!isLost) log.warn({ err: error }, "cannot order certificates: PostgreSQL does not answer");
      isLost = true;
    }
    const soonest = Math.min(...desiredHosts().map(({ host }) => next.get(host) ?? 0));
    const min = isAlone ? MIN_POLL_MS : OTHER_ORDERS_MS;
    const wait = isLost ? LOOK_MS : Math.max(min, Math.min(LOOK_MS, soonest - performance.now()));
    if (!isStopped) timer = setTimeout(reload, wait);
  };
  const listen = () =>
    deps.notifications.listen("control_certificates", (id) => {
      read(id).catch((error: unknown) => {
        isLost = true;
        log.warn({ err: error }, "cannot read certificates: PostgreSQL does not answer");
      });
    });
  const stop = await listen().catch(() => undefined);
  await read().catch((error: unknown) => {
    isLost = true;
    log.warn({ err: error }, "the gateway uses its saved certificates: PostgreSQL does not answer");
  });
  return {
    hosts,
    findToken: (token) => [...challenges.values()].find((one) => one.token === token)?.key_authorization,
    reload,
    problems: () => counts.problems(),
    async [Symbol.asyncDispose]() {
      isStopped = true;
      clearTimeout(timer);
      stop?.();
      orders[Symbol.dispose]();
      await running;
      clearTimeout(timer);
    },
  };
}

/** The database of a host, which is one label below the domain. */
function findByHost(table: Pick<RoutingTable, "byLabel">, domain: string, host: string): RoutedDatabase | undefined {
  return host.endsWith(`.${domain}`) ? table.byLabel(host.slice(0, -domain.length - 1)) : undefined;
}

/** The hosts of databases with services. Others serve nothing. */
function certifiedHosts(table: Pick<RoutingTable, "all">, domain: string): CertifiedHost[] {
  return [...table.all()]
    .filter(({ services }) => services.length > 0)
    .map(({ id, label, org_id: orgId }) => ({ database_id: id, org_id: orgId, host: `${label}.${domain}` }));
}

/** A network error may name internal addresses, so only the log gets its text. */
function hasCode(error: unknown): boolean {
  return error instanceof Error && !(error instanceof AppError) && "code" in error && error.code !== undefined;
}

/** At two thirds of its life. */
function renewAt({ begins_at: beginsAt, ends_at: endsAt }: ShownCertificate): number {
  return beginsAt + ((endsAt - beginsAt) * 2) / 3;
}

async function withTimeout<T>(maxMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`The authority did not answer within ${maxMs / 1_000} s.`)), maxMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
