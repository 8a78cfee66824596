/** Loads node:crypto on first use. A static import would add 5 ms to the start of every command, and few need it. */
export function lazyCrypto(): typeof import("node:crypto") {
  return process.getBuiltinModule("node:crypto");
}
