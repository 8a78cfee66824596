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
    async create<T extends Record<string, unknown>, R = T>(given: Parameters<typeof adapter.create<T, R>>[0]) {
      const field = CREDENTIALS[given.model];
      const data: Row = given.data;
      const token = field === undefined ? undefined : data[field];
      if (field === undefined || typeof token !== "string") return await adapter.create<T, R>(given);
      const stored = { ...data, [field]: hashCredential(token) } as typeof given.data;
      const made = await adapter.create<T, R>({ ...given, data: stored });
      return { ...made, [field]: token };
    },
    async findOne<T>(given: Parameters<typeof adapter.findOne>[0]) {
      const found = await adapter.findOne<T>({ ...given, where: hashWhere(given.model, given.where) });
      return withCredential(given, found);
    },
    findMany: (given) => adapter.findMany({ ...given, ...hashedWhere(given) }),
    count: (given) => adapter.count({ ...given, ...hashedWhere(given) }),
    async update<T>(given: Parameters<typeof adapter.update>[0]) {
      refuseChange(given.model, given.update);
      const found = await adapter.update<T>({ ...given, where: hashWhere(given.model, given.where) });
      return withCredential(given, found);
    },
    async updateMany(given) {
      refuseChange(given.model, given.update);
      return await adapter.updateMany({ ...given, where: hashWhere(given.model, given.where) });
    },
    delete: (given) => adapter.delete({ ...given, where: hashWhere(given.model, given.where) }),
    deleteMany: (given) => adapter.deleteMany({ ...given, where: hashWhere(given.model, given.where) }),
    async consumeOne<T>(given: Parameters<typeof adapter.consumeOne>[0]) {
      const found = await adapter.consumeOne<T>({ ...given, where: hashWhere(given.model, given.where) });
      return withCredential(given, found);
    },
    async incrementOne<T>(given: Parameters<typeof adapter.incrementOne>[0]) {
      const found = await adapter.incrementOne<T>({ ...given, where: hashWhere(given.model, given.where) });
      return withCredential(given, found);
    },
  };
}

interface Asked {
  readonly model: string;
  readonly where?: Where[] | undefined;
}

function hashedWhere(given: Asked): { where?: Where[] } {
  return given.where === undefined ? {} : { where: hashWhere(given.model, given.where) };
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
  const asked = where.find((one) => one.field === field);
  if (found === null || field === undefined || typeof asked?.value !== "string") return found;
  return { ...found, [field]: asked.value };
}

function refuseChange(model: string, update: Row): void {
  const field = CREDENTIALS[model];
  if (field !== undefined && field in update) throw new Error(`The ${field} of a ${model} cannot change.`);
}
