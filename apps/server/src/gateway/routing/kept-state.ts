import { readFileSync } from "node:fs";
import { serviceSchema } from "@appdb/contract/manifest";
import { DATABASE_STATES } from "@appdb/contract/routes/control-databases";
import { SERVICE_STATES } from "@appdb/contract/routes/control-services";
import type { Logger } from "@appdb/engine/ports";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import * as z from "zod";
import { servicePodId } from "../../pods/service-paths.ts";
import type { RoutedDatabase } from "./routing-table.ts";

const WRITE_MS = 500;

const databaseSchema = z.object({
  id: z.string(),
  org_id: z.string(),
  organization: z.string(),
  name: z.string(),
  label: z.string(),
  state: z.enum(DATABASE_STATES),
  is_woken: z.boolean(),
  is_suspended: z.boolean().default(false),
  port: z.int().nullable(),
  services: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      state: z.enum(SERVICE_STATES),
      instance: z.int().nullable(),
      is_wanted: z.boolean(),
      is_failing: z.boolean().default(false),
      cors: serviceSchema.shape.cors,
    }),
  ),
});
const keysSchema = z.object({ public_key: z.string(), snapshot: z.string() });
const certificateSchema = z.object({ chain: z.string(), key: z.string() });
const stateSchema = z.object({
  databases: z.array(databaseSchema),
  keys: z.record(z.string(), keysSchema),
  /** By the id of a service's pod. */
  tokens: z.record(z.string(), z.string()).default({}),
  /** By host. */
  certificates: z.record(z.string(), certificateSchema).default({}),
});

/** The saved keys of a database: the signer's public key (SPKI in base64) and the last snapshot. */
export type KeptKeys = z.output<typeof keysSchema>;

/** Both in PEM. */
export type KeptCertificate = z.output<typeof certificateSchema>;

/** State for a gateway that starts without PostgreSQL, in a file that only its owner can read. */
export interface KeptState extends Disposable {
  /** The databases as last saved. */
  readonly databases: readonly RoutedDatabase[];
  keepRoutes(databases: Iterable<RoutedDatabase>): void;
  findKeys(databaseId: string): KeptKeys | undefined;
  keepKeys(databaseId: string, keys: KeptKeys): void;
  /** The bearer tokens of serving instances, by pod id. */
  readonly tokens: Readonly<Record<string, string>>;
  keepToken(podId: string, token: string): void;
  /** The certificates by host, as last saved. */
  readonly certificates: Readonly<Record<string, KeptCertificate>>;
  keepCertificates(certificates: Readonly<Record<string, KeptCertificate>>): void;
}

/** Opens the file. A missing or unreadable file counts as empty. Changes are saved after a delay, and on disposal. */
export function openKeptState(path: string, log: Logger): KeptState {
  const state = read(path, log);
  let timer: NodeJS.Timeout | undefined;
  const write = () => {
    clearTimeout(timer);
    timer = undefined;
    try {
      writePrivateFile(path, JSON.stringify(state));
    } catch (error) {
      log.warn({ err: error }, "the gateway could not save its routes for a start without PostgreSQL");
    }
  };
  const writeSoon = () => {
    timer ??= setTimeout(write, WRITE_MS);
  };
  return {
    databases: state.databases,
    keepRoutes(databases) {
      state.databases = [...databases];
      const known = new Set(state.databases.map(({ id }) => id));
      for (const id of Object.keys(state.keys)) if (!known.has(id)) delete state.keys[id];
      const services = state.databases.flatMap((database) => database.services);
      const serving = new Set(services.map(({ id, instance }) => servicePodId(id, instance ?? 0)));
      for (const podId of Object.keys(state.tokens)) if (!serving.has(podId)) delete state.tokens[podId];
      writeSoon();
    },
    findKeys: (id) => state.keys[id],
    keepKeys(id, keys) {
      state.keys[id] = keys;
      writeSoon();
    },
    tokens: state.tokens,
    keepToken(podId, token) {
      state.tokens[podId] = token;
      writeSoon();
    },
    certificates: state.certificates,
    keepCertificates(certificates) {
      state.certificates = { ...certificates };
      writeSoon();
    },
    [Symbol.dispose]() {
      if (timer !== undefined) write();
    },
  };
}

interface State {
  databases: RoutedDatabase[];
  readonly keys: Record<string, KeptKeys>;
  readonly tokens: Record<string, string>;
  certificates: Record<string, KeptCertificate>;
}

function read(path: string, log: Logger): State {
  try {
    return stateSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    const isNew = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (!isNew) log.warn({ err: error }, "the gateway cannot read its saved routes; it waits for PostgreSQL");
    return { databases: [], keys: {}, tokens: {}, certificates: {} };
  }
}
