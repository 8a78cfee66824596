import type { ManifestCors } from "@appdb/contract/manifest";
import { MEDIA_STORE_PATH } from "@appdb/contract/media-uri";
import type { DatabaseState } from "@appdb/contract/routes/control-databases";
import type { ServiceState } from "@appdb/contract/routes/control-services";
import { MEDIA_INSTANCE } from "../../pods/service-token.ts";

/** A service in the routing table. */
export interface RoutedService {
  readonly id: string;
  /** The name within the database, with its folders. */
  readonly name: string;
  readonly state: ServiceState;
  /** The serving instance, or null. */
  readonly instance: number | null;
  /** Whether it should run while its database is awake. */
  readonly is_wanted: boolean;
  /** Whether its last start failed. Absent in the saved state of an older gateway. */
  readonly is_failing?: boolean | undefined;
  /** Origins whose pages may read its answers. Null or absent: it sets none. */
  readonly cors?: ManifestCors | null | undefined;
}

/** A database in the routing table. Plain data, because it is saved for a start without PostgreSQL. */
export interface RoutedDatabase {
  readonly id: string;
  readonly org_id: string;
  readonly organization: string;
  readonly name: string;
  readonly state: DatabaseState;
  /** Whether a request may wake it. */
  readonly is_woken: boolean;
  /** Whether its organization is suspended. Absent in the saved state of an older gateway. */
  readonly is_suspended?: boolean | undefined;
  readonly label: string;
  readonly port: number | null;
  readonly services: readonly RoutedService[];
}

/** A request's path, split into service and rest. */
export interface FoundService {
  readonly service: RoutedService;
  /** Starts with the slash after the service's name; `/` if nothing follows. */
  readonly rest: string;
}

/** All routes in memory: read for each request, updated after each change in PostgreSQL. */
export interface RoutingTable {
  all(): Iterable<RoutedDatabase>;
  byId(id: string): RoutedDatabase | undefined;
  /** `label` is the host's part before the domain. */
  byLabel(label: string): RoutedDatabase | undefined;
  /** The service with the longest name that the path starts with. */
  find(database: RoutedDatabase, path: string): FoundService | undefined;
  /** Sets one database; undefined removes it. Returns whether anything changed. */
  set(id: string, database: RoutedDatabase | undefined): boolean;
  /** Replaces all databases. */
  replace(databases: readonly RoutedDatabase[]): void;
  /** Calls back with the database's id after each change. */
  onChange(listener: (id: string) => void): void;
  /** Resolves after the database's next change, or after `maxMs`. */
  changed(id: string, maxMs: number): Promise<void>;
}

export function createRoutingTable(): RoutingTable {
  const databases = new Map<string, Entry>();
  const labels = new Map<string, string>();
  const listeners = new Set<(id: string) => void>();
  const waiting = new Map<string, Set<() => void>>();
  const tell = (id: string) => {
    for (const listener of listeners) listener(id);
    const woken = waiting.get(id);
    waiting.delete(id);
    for (const resume of woken ?? []) resume();
  };
  const set = (id: string, database: RoutedDatabase | undefined) => {
    const before = databases.get(id);
    const text = database === undefined ? undefined : JSON.stringify(database);
    if (before?.text === text) return false;
    if (before !== undefined) labels.delete(before.database.label);
    if (database === undefined || text === undefined) databases.delete(id);
    else {
      databases.set(id, toEntry(database, text));
      labels.set(database.label, id);
    }
    tell(id);
    return true;
  };
  return {
    all: function* () {
      for (const { database } of databases.values()) yield database;
    },
    byId: (id) => databases.get(id)?.database,
    byLabel: (label) => {
      const id = labels.get(label);
      return id === undefined ? undefined : databases.get(id)?.database;
    },
    find: (database, path) => findService(databases.get(database.id), path),
    set,
    replace: (all) => {
      const known = new Set(all.map(({ id }) => id));
      for (const id of [...databases.keys()]) if (!known.has(id)) set(id, undefined);
      for (const database of all) set(database.id, database);
    },
    onChange: (listener) => void listeners.add(listener),
    changed: (id, maxMs) =>
      new Promise((resolve) => {
        const set = waiting.get(id) ?? new Set();
        waiting.set(id, set);
        const timer = setTimeout(() => {
          set.delete(resume);
          if (set.size === 0 && waiting.get(id) === set) waiting.delete(id);
          resolve();
        }, maxMs);
        const resume = () => {
          clearTimeout(timer);
          resolve();
        };
        set.add(resume);
      }),
  };
}

interface Entry {
  readonly database: RoutedDatabase;
  readonly text: string;
  readonly services: ReadonlyMap<string, RoutedService>;
  /** Number of path parts in the longest service name. */
  readonly parts: number;
}

function toEntry(database: RoutedDatabase, text: string): Entry {
  const served = [...database.services, mediaStoreOf(database)];
  const services = new Map(served.map((service) => [service.name, service]));
  const parts = Math.max(...served.map(({ name }) => name.split("/").length));
  return { database, text, services, parts };
}

function findService(entry: Entry | undefined, path: string): FoundService | undefined {
  if (entry === undefined) return undefined;
  let found: FoundService | undefined;
  let from = 1;
  for (let part = 0; part < entry.parts; part += 1) {
    const slash = path.indexOf("/", from);
    const end = slash < 0 ? path.length : slash;
    const service = entry.services.get(path.slice(1, end));
    if (service !== undefined) found = { service, rest: slash < 0 ? "/" : path.slice(end) };
    if (slash < 0) break;
    from = slash + 1;
  }
  return found;
}

/** The media store of a database in the form of a service. Its own pod serves it, by the database's id. */
function mediaStoreOf({ id, state }: RoutedDatabase): RoutedService {
  const isAwake = state === "AVAILABLE" || state === "UPDATING";
  return { id, name: MEDIA_STORE, state: isAwake ? "AVAILABLE" : "STOPPED", instance: MEDIA_INSTANCE, is_wanted: true };
}

/** The name of media stores among the services of their database. */
export const MEDIA_STORE = MEDIA_STORE_PATH.slice(1);

/** A service of the database by its id, or its media store. */
export function findServiceById(database: RoutedDatabase, id: string): RoutedService | undefined {
  return id === database.id ? mediaStoreOf(database) : database.services.find((service) => service.id === id);
}

/** The serving instance, or undefined. */
export function servingInstance({ state, instance }: RoutedService): number | undefined {
  return instance !== null && (state === "AVAILABLE" || state === "UPDATING") ? instance : undefined;
}
