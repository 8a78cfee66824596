import { parseProblem } from "@appdb/contract/errors";
import { useQuery } from "@tanstack/react-query";
import type { ShownFile } from "./shown-file.ts";

/** Why the browser could not show a file. Undefined while the reason is being read. */
export function useLoadProblem(file: ShownFile): string | undefined {
  const { data } = useQuery({
    queryKey: ["file problem", file.address],
    queryFn: ({ signal }) => findProblem(file, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data;
}

async function findProblem({ address, kind, type }: ShownFile, signal: AbortSignal): Promise<string> {
  const unknown = `This browser cannot show ${type ?? `this ${kind}`}.`;
  if (address.startsWith("blob:")) return unknown;
  // the page may not read responses of other addresses
  if (!address.startsWith("/")) return "It could not be loaded. Its address may have expired.";
  const response = await fetch(address, { headers: { range: "bytes=0-0" }, signal });
  if (response.ok) {
    await response.body?.cancel();
    return unknown;
  }
  return parseProblem(await response.text())?.detail ?? `The server answered with status ${response.status}.`;
}
