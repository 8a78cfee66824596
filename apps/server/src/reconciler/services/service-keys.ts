import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { errorFields } from "../../database/pool.ts";
import type { PodAddress } from "../../pods/fetch-pod.ts";
import { parseServicePodId } from "../../pods/service-paths.ts";
import type { KeyedDatabase, ReconcileDeps, ServiceKeyPusher } from "../core/reconcile-deps.ts";
import { findAddress } from "./service-pods.ts";

const LOOK_MS = 60_000;
const TRIES = 5;
const RETRY_MS = 200;

type KeysDeps = Pick<ReconcileDeps, "db" | "envelope" | "snapshots" | "log" | "machine">;

interface Followed {
  snapshot: string | undefined;
  readonly stop: Promise<() => void>;
}

/** Pushes snapshots of keys to the pods of services, as long as their database has any. */
export class ServiceKeys implements ServiceKeyPusher {
  readonly #deps: KeysDeps;
  readonly #followed = new Map<string, Followed>();
  readonly #timer: NodeJS.Timeout;

  constructor(deps: KeysDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => {
      this.#forgetEmpty().catch((error) => deps.log.warn(errorFields(error), "could not check the followed keys"));
    }, LOOK_MS).unref();
  }

  async follow(database: KeyedDatabase): Promise<void> {
    const { id, name, org_id: orgId, organization } = database;
    let followed = this.#followed.get(id);
    if (followed === undefined) {
      const entry: Followed = {
        snapshot: undefined,
        stop: this.#deps.snapshots.follow({ org_id: orgId, organization, database: name }, (snapshot) => {
          entry.snapshot = snapshot;
          this.#pushAll(id, entry).catch((error) =>
            this.#deps.log.warn({ ...errorFields(error), db: id }, "could not push a snapshot of keys"),
          );
        }),
      };
      followed = entry;
      this.#followed.set(id, entry);
      entry.stop.catch(() => this.#followed.delete(id));
    }
    await followed.stop;
  }

  async push(database: KeyedDatabase, address: PodAddress): Promise<void> {
    await this.follow(database);
    const followed = this.#followed.get(database.id);
    if (followed !== undefined && (await this.#push(address, followed))) return;
    throw appError("pod_failed", {
      detail: "The pod of <service_uri> is running but rejected the key update.",
      hint: "See its log: cli service logs <service_uri>",
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    for (const id of [...this.#followed.keys()]) await this.#stop(id);
  }

  async #pushAll(databaseId: string, followed: Followed): Promise<void> {
    const pods = await this.#deps.machine.driver.list({ database_id: databaseId, kind: "service" });
    await Promise.all(
      pods.map(async ({ id, state }) => {
        const pod = parseServicePodId(id);
        if (pod === undefined || state !== "running") return;
        const address = await findAddress(this.#deps, { id: pod.service_id, database_id: databaseId }, pod.instance);
        // a starting instance gets keys before its first request
        if (address !== undefined && (await this.#deps.machine.askService(address)) !== undefined)
          await this.#push(address, followed);
      }),
    );
  }

  async #push(address: PodAddress, followed: Followed): Promise<boolean> {
    for (let tried = 1; ; tried += 1) {
      const { snapshot } = followed;
      if (snapshot === undefined) return false;
      if (await this.#deps.machine.putKeys(address, snapshot)) return true;
      if (tried >= TRIES) return false;
      await sleep(RETRY_MS);
    }
  }

  async #forgetEmpty(): Promise<void> {
    if (this.#followed.size === 0) return;
    const pods = await this.#deps.machine.driver.list({ kind: "service" });
    const used = new Set(pods.map(({ labels }) => labels.database_id));
    for (const id of this.#followed.keys()) if (!used.has(id)) await this.#stop(id);
  }

  async #stop(id: string): Promise<void> {
    const followed = this.#followed.get(id);
    this.#followed.delete(id);
    const stop = await followed?.stop.catch(() => undefined);
    stop?.();
  }
}
