import { createHash } from "node:crypto";
import type { DBAdapter, DBTransactionAdapter, Where } from "better-auth/adapters";

/** The field of each model that is a credential and is stored as a hash. */
const CREDENTIALS: Readonly<Record<string, string>> = { session: "token", deviceCode: "deviceCode" };

/** The stored form of a session token or device code: SHA-256 in hex. Tokens are random, so no salt is needed. */
export function hashCredential(token: string): string {
  return createHash("sha256").update(token, "utf8").digest("hex");
}

type Row = Record<string, unknown>;

/**
 * Wraps better-auth's adapter to hash credentials on their way to the database. A row that was found by its credential
 * gets the credential back, because better-auth sets cookies from it. Other rows keep the hash, which cannot sign in.
 */
export function hashCredentials(adapter: DBAdapter): DBAdapter {
  return {
    ...adapter,
    ...hashIn(adapter),
    transaction: (run) => adapter.transaction((inner) => run({ ...inner, ...hashIn(inner) })),
  };
}

function hashIn(adapter: DBTransactionAdapter): Omit<DBTransactionAdapter, "id"> {
  return {
    async create<T extends Record<string, unknown>, R = T>(query: Parameters<typeof adapter.create<T, R>>[0]) {
      const field = CREDENTIALS[query.model];
      const data: Row = query.data;
      const token = field === undefined ? undefined : data[field];
      if (field === undefined || typeof token !== "string") return await adapter.create<T, R>(query);
      const stored = { ...data, [field]: hashCredential(token) } as typeof query.data;
      const created = await adapter.create<T, R>({ ...query, data: stored });
      return { ...created, [field]: token };
    },
    async findOne<T>(query: Parameters<typeof adapter.findOne>[0]) {
      const found = await adapter.findOne<T>({ ...query, where: hashWhere(query.model, query.where) });
      return withCredential(query, found);
    },
    findMany: (query) => adapter.findMany({ ...query, ...hashedWhere(query) }),
    count: (query) => adapter.count({ ...query, ...hashedWhere(query) }),
    async update<T>(query: Parameters<typeof adapter.update>[0]) {
      refuseChange(query.model, query.update);
      const found = await adapter.update<T>({ ...query, where: hashWhere(query.model, query.where) });
      return withCredential(query, found);
    },
    async updateMany(query) {
      refuseChange(query.model, query.update);
      return await adapter.updateMany({ ...query, where: hashWhere(query.model, query.where) });
    },
    delete: (query) => adapter.delete({ ...query, where: hashWhere(query.model, query.where) }),
    deleteMany: (query) => adapter.deleteMany({ ...query, where: hashWhere(query.model, query.where) }),
    async consumeOne<T>(query: Parameters<typeof adapter.consumeOne>[0]) {
      const found = await adapter.consumeOne<T>({ ...query, where: hashWhere(query.model, query.where) });
      return withCredential(query, found);
    },
    async incrementOne<T>(query: Parameters<typeof adapter.incrementOne>[0]) {
      const found = await adapter.incrementOne<T>({ ...query, where: hashWhere(query.model, query.where) });
      return withCredential(query, found);
    },
  };
}

interface Asked {
  readonly model: string;
  readonly where?: Where[] | undefined;
}

function hashedWhere(query: Asked): { where?: Where[] } {
  return query.where === undefined ? {} : { where: hashWhere(query.model, query.where) };
}

function hashWhere(model: string, where: Where[]): Where[] {
  const field = CREDENTIALS[model];
  if (field === undefined) return where;
  return where.map((one) => (one.field === field ? { ...one, value: hashValue(one.value) } : one));
}

function hashValue(value: Where["value"]): Where["value"] {
  if (typeof value === "string") return hashCredential(value);
  if (Array.isArray(value)) return value.map((one) => hashCredential(String(one)));
  throw new Error("A credential can only be looked up by its text.");
}

/** Puts the credential of the lookup into the row. */
function withCredential<T>({ model, where = [] }: Asked, found: T | null): T | null {
  const field = CREDENTIALS[model];
  const condition = where.find((one) => one.field === field);
  if (found === null || field === undefined || typeof condition?.value !== "string") return found;
  return { ...found, [field]: condition.value };
}

function refuseChange(model: string, update: Row): void {
  const field = CREDENTIALS[model];
  if (field !== undefined && field in update) throw new Error(`The ${field} of a ${model} cannot change.`);
}
