import { POD_API } from "@appdb/contract/routes/pod-api";
import type { Handlers } from "../api/json-api.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";

/** Whether a request does not count as use: a program that only waits must not keep its database awake. */
export function isRenewal(method: string, path: string): boolean {
  const { method: renews, path: pattern } = POD_API.programRenew;
  const folder = pattern.slice(0, pattern.indexOf(":"));
  return (method === renews || method === POD_API.programEnd.method) && path.startsWith(folder);
}

/** Routes for functions of programs, which people's queries and changes name. */
export function programHandlers({
  disk,
  programs,
}: DatabasePodDeps): Pick<Handlers<typeof POD_API>, "programEnd" | "programRenew" | "programStore"> {
  return {
    programStore: async ({ body: { files, ...sent } }) => {
      await disk.admit();
      return programs.store(sent, files);
    },
    programRenew: async ({ body: { files, ...sent }, params: { program } }) => {
      if (sent.modules.length > 0) await disk.admit();
      return programs.renew(program, sent, files);
    },
    programEnd: async ({ params: { program } }) => await programs.end(program),
  };
}
