/**
 * Bytes found by their SHA-256 (hex), stored separately for each owner: owners cannot see each other's blobs. Blobs are
 * immutable.
 */
export interface BlobStore {
  has(owner: string, digest: string): Promise<boolean>;
  /**
   * Stores bytes durably: once it resolves, they survive a power cut. On error nothing is stored. Safe to repeat and to
   * run concurrently.
   * @throws blob_invalid when the bytes do not match the digest; disk_full
   */
  put(owner: string, digest: string, bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>;
  /** Streams the stored bytes. @throws blobs_missing when no blob has that digest */
  get(owner: string, digest: string): AsyncIterable<Uint8Array>;
  /** Does nothing when the blob does not exist. */
  delete(owner: string, digest: string): Promise<void>;
  /** Removes unfinished uploads that began before that time. */
  clean(before: Date): Promise<void>;
}
