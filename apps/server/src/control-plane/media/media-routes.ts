import { endOf } from "@appdb/http/mount-api";
import { doneBy, type RecordEvent } from "../../audit/event.ts";
import type { ServerConfig } from "../../config/config.ts";
import { databaseOrigin } from "../../edge/address.ts";
import { podClient, podUnreachable } from "../../pods/pod-client.ts";
import type { ControlRoutes } from "../../requests/checked-route.ts";
import { type FindPodDeps, type FoundPod, findPod } from "../databases/find-pod.ts";
import { forwardDocument } from "../rows/forward-answer.ts";

export interface MediaRouteDeps extends FindPodDeps {
  readonly config: Pick<ServerConfig, "gateway">;
  readonly recordEvent: RecordEvent;
}

/** Passes on requests for the media store of a database to its pod. Files go by the gateway, to addresses that the pod signs. */
export function addMediaRoutes(routes: ControlRoutes, deps: MediaRouteDeps): void {
  routes.add("mediaList", async ({ org, params, query, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "read");
    await forwardDocument(pod, reply, (client, options) => client.open("mediaList", { query }, options));
    return undefined;
  });
  routes.add("mediaUsage", async ({ org, params, query, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "read");
    await forwardDocument(pod, reply, (client, options) => client.open("mediaUsage", { query }, options));
    return undefined;
  });
  routes.add("mediaRemove", async ({ body, client, org, params, principal, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "written");
    const event = { ...doneBy({ org, principal, client }), action: "media.remove", target: pod.uri } as const;
    const detail = { folder: body.folder ?? null, names: body.names?.length ?? 0 };
    try {
      const answer = await podClient(pod).call("mediaRemove", { body }, { signal: endOf(reply) });
      await deps.recordEvent(deps.db, { ...event, detail: { ...detail, files: answer.removed } });
      return answer;
    } catch (error) {
      // some files may be gone
      await deps.recordEvent(deps.db, { ...event, outcome: "failed", detail });
      throw error;
    }
  });
  routes.add("mediaPrune", async ({ body, client, org, params, principal, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "written");
    const event = { ...doneBy({ org, principal, client }), action: "media.prune", target: pod.uri } as const;
    try {
      const answer = await podClient(pod).call("mediaPrune", { body }, { signal: endOf(reply) });
      if (!body.dry_run) await deps.recordEvent(deps.db, { ...event, detail: { ...answer } });
      return answer;
    } catch (error) {
      // some objects may be gone
      if (!body.dry_run) await deps.recordEvent(deps.db, { ...event, outcome: "failed", detail: {} });
      throw error;
    }
  });
  routes.add("mediaRead", async ({ body, org, params, reply }) => {
    const found = await findPod(deps, org, params.db, "read");
    const { files } = await podClient(found.pod).call("mediaRead", { body }, { signal: endOf(reply) });
    return { files: files.map((file) => ({ ...file, address: whole(deps, found, file.address) })) };
  });
  routes.add("mediaWrite", async ({ body, client, org, params, principal, reply }) => {
    const found = await findPod(deps, org, params.db, "written");
    const { files } = await podClient(found.pod).call("mediaWrite", { body }, { signal: endOf(reply) });
    const names = body.files.flatMap(({ name }, at) => (name !== null && files[at]?.replaces === true ? [name] : []));
    if (names.length > 0) {
      const event = { ...doneBy({ org, principal, client }), action: "media.replace", target: found.pod.uri } as const;
      // before the caller gets an address, because its put is between the gateway and the pod
      await deps.recordEvent(deps.db, { ...event, detail: { files: names.length, names } });
    }
    return {
      files: files.map((file) => ({
        ...file,
        address: file.address === null ? null : whole(deps, found, file.address),
      })),
    };
  });
}

/** The address at the gateway. @throws database_not_reached before the gateway serves the database */
function whole({ config }: MediaRouteDeps, { pod, row }: FoundPod, address: string): string {
  const origin = databaseOrigin(config, row);
  if (origin === null) throw podUnreachable(pod.uri);
  return origin + address;
}
