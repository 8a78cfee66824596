import { parseProblem } from "@appdb/contract/errors";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ShownFile } from "./shown-file.ts";

interface LoadProblem {
  /** Undefined while the reason is being read. */
  readonly problem: string | undefined;
  /** Makes the next failure read its reason again. */
  readonly forget: () => void;
}

/** Why the browser could not show a file. */
export function useLoadProblem(file: ShownFile): LoadProblem {
  const queries = useQueryClient();
  const queryKey = ["file problem", file.address];
  const { data } = useQuery({
    queryKey,
    queryFn: ({ signal }) => findProblem(file, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return { problem: data, forget: () => queries.removeQueries({ queryKey }) };
}

async function findProblem({ address, kind, type }: ShownFile, signal: AbortSignal): Promise<string> {
  const shown = type ?? `this ${kind}`;
  if (address.startsWith("blob:")) return `This browser cannot show ${shown}.`;
  // the page may not read responses of other addresses
  if (!address.startsWith("/")) return "It could not be loaded. Its address may have expired.";
  const response = await fetch(address, { headers: { range: "bytes=0-0" }, signal });
  if (response.ok) {
    await response.body?.cancel();
    return `The server sends it. If trying again fails, this browser cannot show ${shown}.`;
  }
  return parseProblem(await response.text())?.detail ?? `The server answered with status ${response.status}.`;
}
