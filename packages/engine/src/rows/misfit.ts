/** Why a value does not fit its column, for people. A class, so that it cannot be mistaken for a value. */
export class Misfit {
  readonly detail: string;

  constructor(detail: string) {
    this.detail = detail;
  }
}
