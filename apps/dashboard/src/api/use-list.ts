import type { CallOptions } from "@appdb/contract/clients/client";
import { type QueryKey, useInfiniteQuery } from "@tanstack/react-query";
import { type Api, useApi } from "./api.tsx";

export interface List<Item> {
  /** Undefined until the first page is loaded. */
  readonly items: readonly Item[] | undefined;
  readonly error: Error | null;
  /** Loads the next page. Undefined at the end. */
  readonly more: (() => void) | undefined;
  readonly loading_more: boolean;
}

interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}

type RefreshMs<Item> = number | false | ((items: readonly Item[]) => number);

interface ListOptions<Item> {
  /** Interval for reloading the list, in ms, depending on its content. False for never. */
  readonly refresh_ms?: RefreshMs<Item>;
  readonly enabled?: boolean;
}

/** A paged list of the server. */
export function useList<Item>(
  key: QueryKey,
  read: (api: Api, query: { cursor?: string }, options: CallOptions) => Promise<ListPage<Item>>,
  { refresh_ms: refreshMs = false, enabled = true }: ListOptions<Item> = {},
): List<Item> {
  const api = useApi();
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read(api, pageParam === null ? {} : { cursor: pageParam }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    refetchInterval: ({ state }) =>
      typeof refreshMs === "function" ? refreshMs(state.data?.pages.flatMap((page) => page.items) ?? []) : refreshMs,
    enabled,
  });
  return {
    items: query.data?.pages.flatMap((page) => page.items),
    error: query.error,
    more: query.hasNextPage ? () => void query.fetchNextPage() : undefined,
    loading_more: query.isFetchingNextPage,
  };
}
