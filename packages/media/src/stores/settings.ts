/** What a store of a cloud is opened with. */
export interface StoreSettings {
  /** Credentials and endpoints by the names that the clouds' own tools use; of a hosted database its secrets. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}
