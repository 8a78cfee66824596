import type { Logger } from "@appdb/engine/ports";
import type { PodEndpoint } from "@appdb/pods/driver/pod-driver";
import { type Link, openLink } from "@appdb/pods/link/open-link";
import { connectPod } from "../../pods/connect-pod.ts";
import type { ServiceLocation } from "../../pods/service-paths.ts";
import type { ByteBudget } from "../admission/byte-budget.ts";
import type { FindPodToken } from "../routing/pod-tokens.ts";

export interface PodLinksDeps {
  readonly log: Logger;
  /** Counts the bytes that links buffer in both directions. */
  readonly budget: ByteBudget;
  readonly findToken: FindPodToken;
}

/** A service with the owner of its links' memory. */
export type OwnedService = ServiceLocation & { readonly org_id: string };

/** Links to the pods that serve, by the endpoint, of which an instance has one. */
export interface PodLinks extends Disposable {
  /** The link to an instance: directly if it is open, or as soon as it is. Undefined if it accepts no requests. */
  find(endpoint: PodEndpoint, service: OwnedService, instance: number): Link | Promise<Link | undefined>;
  /** Closes links to pods that no longer serve, after their running requests. */
  keepOnly(endpoints: ReadonlySet<PodEndpoint>): void;
}

const CONNECT_MS = 5_000;
/** Pause before a link that failed, or that accepts no requests, is opened again. */
const TRY_AGAIN_MS = 50;
const LOOK_MS = 1_000;

interface Kept {
  link: Link | undefined;
  /** Resolves when the link is open or has failed. */
  opening: Promise<Link | undefined>;
  /** By the monotonic clock. */
  readonly next_try_at: number;
}

export function createPodLinks({ budget, findToken, log }: PodLinksDeps): PodLinks {
  const links = new Map<PodEndpoint, Kept>();
  const leaving = new Set<Link>();
  const connect = async (endpoint: PodEndpoint, service: OwnedService, instance: number) => {
    const { org_id: orgId } = service;
    try {
      const token = await findToken(service, instance);
      if (token === undefined) return undefined;
      return await openLink({
        connect: () => connectPod(endpoint, CONNECT_MS).setTimeout(0),
        token,
        log,
        memory: {
          take: (bytes) => budget.tryReserve(orgId, bytes),
          add: (bytes) => budget.add(orgId, bytes),
          give: (bytes) => budget.give(orgId, bytes),
        },
      });
    } catch (error) {
      log.debug({ err: error, service: service.id }, "no link to a pod");
      return undefined;
    }
  };
  const open = async (kept: Kept, opening: Promise<Link | undefined>, endpoint: PodEndpoint) => {
    const link = await opening;
    if (links.get(endpoint) !== kept) {
      link?.[Symbol.dispose]();
      return undefined;
    }
    kept.link = link;
    return link?.is_open === true ? link : undefined;
  };
  const timer = setInterval(() => {
    for (const link of leaving) {
      if (link.in_flight > 0) continue;
      leaving.delete(link);
      link[Symbol.dispose]();
    }
  }, LOOK_MS).unref();
  return {
    find(endpoint, service, instance) {
      const entry = links.get(endpoint);
      if (entry?.link?.is_open === true) return entry.link;
      const now = performance.now();
      if (entry !== undefined && now < entry.next_try_at) return entry.opening;
      if (entry?.link !== undefined) leaving.add(entry.link);
      const next: Kept = { link: undefined, opening: NO_LINK, next_try_at: now + TRY_AGAIN_MS };
      links.set(endpoint, next);
      next.opening = open(next, connect(endpoint, service, instance), endpoint);
      return next.opening;
    },
    keepOnly(endpoints) {
      for (const [endpoint, { link }] of links) {
        if (endpoints.has(endpoint)) continue;
        links.delete(endpoint);
        if (link !== undefined) leaving.add(link);
      }
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      for (const { link } of links.values()) link?.[Symbol.dispose]();
      for (const link of leaving) link[Symbol.dispose]();
      links.clear();
    },
  };
}

const NO_LINK = Promise.resolve(undefined);
