import type { Logger } from "@appdb/engine/ports";
import type { PodEndpoint } from "@appdb/pods/driver/pod-driver";
import { type Link, openLink } from "@appdb/pods/link/open-link";
import type { Secret } from "@appdb/system/secret";
import { connectPod } from "../../pods/connect-pod.ts";
import type { ServiceLocation } from "../../pods/service-paths.ts";
import type { ByteBudget } from "../admission/byte-budget.ts";

/** An open link, with the routes that it accepts. */
export interface OpenPodLink {
  readonly link: Link;
  /** `POST /docs` */
  readonly routes: ReadonlySet<string>;
}

export interface PodLinksDeps {
  readonly log: Logger;
  /** Counts the bytes that links buffer in both directions. */
  readonly budget: ByteBudget;
  /** The bearer token of an instance. Undefined if unknown. */
  findToken(service: ServiceLocation, instance: number): Promise<Secret | undefined>;
}

/** A service with the owner of its links' memory. */
export type OwnedService = ServiceLocation & { readonly org_id: string };

/** Links to the pods that serve, by the endpoint, of which an instance has one. */
export interface PodLinks extends Disposable {
  /** Returns the open link to an instance. Otherwise starts to open one for later requests. */
  find(endpoint: PodEndpoint, service: OwnedService, instance: number): OpenPodLink | undefined;
  /** Closes links to pods that no longer serve, after their running requests. */
  keepOnly(endpoints: ReadonlySet<PodEndpoint>): void;
}

const CONNECT_MS = 5_000;
/** Pause before a failed link is tried again. Requests use HTTP meanwhile. */
const TRY_AGAIN_MS = 1_000;
const LOOK_MS = 1_000;

interface Kept {
  open: OpenPodLink | undefined;
  /** By the monotonic clock. */
  next_try_at: number;
}

export function createPodLinks({ budget, findToken, log }: PodLinksDeps): PodLinks {
  const links = new Map<PodEndpoint, Kept>();
  const leaving = new Set<Link>();
  const connect = async (entry: Kept, endpoint: PodEndpoint, service: OwnedService, instance: number) => {
    const { org_id: orgId } = service;
    try {
      const token = await findToken(service, instance);
      if (token === undefined) return;
      const link = await openLink({
        connect: () => connectPod(endpoint, CONNECT_MS).setTimeout(0),
        token,
        log,
        memory: {
          take: (bytes) => budget.tryReserve(orgId, bytes),
          add: (bytes) => budget.add(orgId, bytes),
          give: (bytes) => budget.give(orgId, bytes),
        },
      });
      if (links.get(endpoint) !== entry) link[Symbol.dispose]();
      else entry.open = { link, routes: routesOf(link.about) };
    } catch (error) {
      log.debug({ err: error, service: service.id }, "no link to a pod; its requests use HTTP");
    }
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
      if (entry?.open?.link.is_open === true) return entry.open;
      const now = performance.now();
      if (entry !== undefined && now < entry.next_try_at) return undefined;
      const anew: Kept = { open: undefined, next_try_at: now + TRY_AGAIN_MS };
      if (entry?.open !== undefined) leaving.add(entry.open.link);
      links.set(endpoint, anew);
      void connect(anew, endpoint, service, instance);
      return undefined;
    },
    keepOnly(endpoints) {
      for (const [endpoint, { open }] of links) {
        if (endpoints.has(endpoint)) continue;
        links.delete(endpoint);
        if (open !== undefined) leaving.add(open.link);
      }
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      for (const { open } of links.values()) open?.link[Symbol.dispose]();
      for (const link of leaving) link[Symbol.dispose]();
      links.clear();
    },
  };
}

/** Validates what a pod says about itself. */
function routesOf(about: unknown): ReadonlySet<string> {
  const routes = typeof about === "object" && about !== null && "routes" in about ? about.routes : undefined;
  return new Set(Array.isArray(routes) ? routes.filter((route) => typeof route === "string") : []);
}
