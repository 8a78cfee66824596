import type { ManifestCors } from "@appdb/contract/manifest";
import type { DatabaseState } from "@appdb/contract/routes/control-databases";
import type { ServiceState } from "@appdb/contract/routes/control-services";

/** A service as the gateway sees it. */
export interface RoutedService {
  readonly id: string;
  /** Within the database, with its folders. */
  readonly name: string;
  readonly state: ServiceState;
  /** What serves; null while nothing does. */
  readonly instance: number | null;
  /** It shall run while its database is awake. */
  readonly is_wanted: boolean;
  /** Which pages of other origins may read what it answers; null or absent: it says nothing of them. */
  readonly cors?: ManifestCors | null | undefined;
}

/** A database as the gateway sees it: plain data, which is kept over a start without PostgreSQL. */
export interface RoutedDatabase {
  readonly id: string;
  readonly org_id: string;
  readonly organization: string;
  readonly name: string;
  readonly state: DatabaseState;
  /** A request may wake it. */
  readonly is_woken: boolean;
  /** Its organization's requests are refused. Absent in what an older gateway kept. */
  readonly is_suspended?: boolean | undefined;
  readonly label: string;
  readonly port: number | null;
  readonly services: readonly RoutedService[];
}

/** A request's path, split. */
export interface FoundService {
  readonly service: RoutedService;
  /** From the slash behind the service's name; `/` when nothing follows. */
  readonly rest: string;
}

/** Where requests go, in memory: looked up with each of them, changed whenever PostgreSQL tells of a change. */
export interface RoutingTable {
  all(): Iterable<RoutedDatabase>;
  byId(id: string): RoutedDatabase | undefined;
  /** `label` is what stands before the domain. */
  byLabel(label: string): RoutedDatabase | undefined;
  /** The service whose name is the longest that the path begins with. */
  find(database: RoutedDatabase, path: string): FoundService | undefined;
  /** Takes what is known of one database; undefined forgets it. True when something is another thing than before. */
  set(id: string, database: RoutedDatabase | undefined): boolean;
  /** Takes all that there are. */
  replace(databases: readonly RoutedDatabase[]): void;
  /** Calls back after each change, with the database's id. */
  onChange(heard: (id: string) => void): void;
  /** Resolves after the next change of the database, or after `most_ms`. */
  changed(id: string, mostMs: number): Promise<void>;
}

export function createRoutingTable(): RoutingTable {
  const databases = new Map<string, Entry>();
  const labels = new Map<string, string>();
  const listeners = new Set<(id: string) => void>();
  const waiting = new Map<string, Set<() => void>>();
  const tell = (id: string) => {
    for (const heard of listeners) heard(id);
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
    onChange: (heard) => void listeners.add(heard),
    changed: (id, mostMs) =>
      new Promise((resolve) => {
        const set = waiting.get(id) ?? new Set();
        waiting.set(id, set);
        const timer = setTimeout(() => {
          set.delete(resume);
          if (set.size === 0 && waiting.get(id) === set) waiting.delete(id);
          resolve();
        }, mostMs);
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
  /** How many parts the longest name of a service has. */
  readonly parts: number;
}

function toEntry(database: RoutedDatabase, text: string): Entry {
  const services = new Map(database.services.map((service) => [service.name, service]));
  const parts = Math.max(0, ...database.services.map(({ name }) => name.split("/").length));
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

/** Which instance serves; undefined while none does. */
export function servingInstance({ state, instance }: RoutedService): number | undefined {
  return instance !== null && (state === "AVAILABLE" || state === "UPDATING") ? instance : undefined;
}
