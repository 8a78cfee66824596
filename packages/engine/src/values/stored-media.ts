/** A file of a request that is stored already: what a media column takes in place of an address. JSON cannot make one. */
export class StoredMedia {
  /** The column's value: JSON text of a reference. */
  readonly cell: string;

  constructor(cell: string) {
    this.cell = cell;
  }
}
