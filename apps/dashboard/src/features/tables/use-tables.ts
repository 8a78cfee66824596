import type { Database } from "@appdb/contract/routes/control-databases";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/api.tsx";
import { KEYS } from "../../api/queries.ts";
import type { List } from "../../api/use-list.ts";
import { type ExactPage, readRowPage } from "./read-rows.ts";

const ROWS_A_PAGE = 50;

/** The tables of a running database. Others are not asked, because that would wake them. */
export function useTables({ organization, name, state }: Database): List<DataTable> {
  const api = useApi();
  const query = useQuery({
    queryKey: KEYS.tables(organization, name),
    queryFn: ({ signal }) => api.control.call("tableList", { params: { org: organization, db: name } }, { signal }),
    enabled: state === "AVAILABLE",
  });
  return { items: query.data?.tables, error: query.error, more: undefined, loading_more: false };
}

export function useTable({ organization, name, state }: Database, table: string) {
  const api = useApi();
  return useQuery({
    queryKey: KEYS.table(organization, name, table),
    queryFn: ({ signal }) =>
      api.control.call("tableShow", { params: { org: organization, db: name, table } }, { signal }),
    enabled: state === "AVAILABLE",
  });
}

/** The exact number of rows that a condition means. */
export function useRowCount({ organization, name, state }: Database, table: string, where: string | undefined) {
  const api = useApi();
  return useQuery({
    queryKey: [...KEYS.table(organization, name, table), "count", where ?? null],
    queryFn: ({ signal }) =>
      api.control.call("rowCount", { params: { org: organization, db: name, table }, query: { where } }, { signal }),
    enabled: state === "AVAILABLE" && where !== undefined,
    retry: false,
  });
}

interface RowsRead {
  /** Undefined until the first page is loaded. The previous page stays until the next one is loaded. */
  readonly page: ExactPage | undefined;
  readonly error: Error | null;
  readonly is_loading: boolean;
  readonly again: () => void;
}

/** Which rows a page shows, and in which order. The address of the page has both. */
export interface RowFilter {
  /** A condition as people write it: `score > 0.5`. */
  readonly where?: string | undefined;
  /** `column:asc` or `column:desc`; by default the newest rows come first. */
  readonly order_by?: string | undefined;
}

/** A page of a table's rows, after the cursor. */
export function useRows(
  { organization, name, state }: Database,
  table: string,
  { cursor, filter: { order_by: orderBy, where } }: { readonly cursor: string | undefined; readonly filter: RowFilter },
): RowsRead {
  const api = useApi();
  const query = useQuery({
    queryKey: [...KEYS.table(organization, name, table), "rows", where ?? null, orderBy ?? null, cursor ?? null],
    queryFn: async ({ signal }) => {
      const params = { org: organization, db: name, table };
      const query = { limit: ROWS_A_PAGE, cursor, where, order_by: orderBy };
      return readRowPage(await api.control.text("rowList", { params, query }, { signal }));
    },
    enabled: state === "AVAILABLE",
    placeholderData: keepPreviousData,
    // maps and exact numbers cannot be compared, so each answer counts as new
    structuralSharing: false,
  });
  return {
    page: query.data,
    error: query.error,
    is_loading: query.isFetching,
    again: () => void query.refetch(),
  };
}
