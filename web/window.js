// The part of an axis that is shown, which charts have in common: zooming one zooms all.

export class Window {
  constructor() {
    this.whole = [0, 1];
    this.shown = null;
    this.cross = NaN;
    this.listeners = new Set();
  }

  get low() { return this.shown ? this.shown[0] : this.whole[0]; }
  get high() { return this.shown ? this.shown[1] : this.whole[1]; }
  get zoomed() { return this.shown !== null; }

  listen(call, signal) {
    this.listeners.add(call);
    signal?.addEventListener('abort', () => this.listeners.delete(call));
  }

  tell(what) {
    for (const call of this.listeners) call(what);
  }

  setWhole(low, high) {
    if (!(high > low)) high = low + 1;
    if (this.whole[0] === low && this.whole[1] === high) return;
    this.whole = [low, high];
    this.tell('window');
  }

  show(low, high) {
    const least = (this.whole[1] - this.whole[0]) * 1e-7;
    if (!(high - low > least)) return;
    const covers = low <= this.whole[0] && high >= this.whole[1];
    this.shown = covers ? null : [low, high];
    this.tell('window');
  }

  showAll() {
    this.shown = null;
    this.tell('window');
  }

  pan(part) {
    const span = this.high - this.low;
    let low = this.low + part * span;
    low = Math.max(this.whole[0], Math.min(this.whole[1] - span, low));
    if (this.zoomed) this.show(low, low + span);
  }

  zoom(factor, at = (this.low + this.high) / 2) {
    this.show(Math.max(this.whole[0], at - (at - this.low) * factor), Math.min(this.whole[1], at + (this.high - at) * factor));
  }

  setCross(value) {
    if (Object.is(this.cross, value)) return;
    this.cross = value;
    this.tell('cross');
  }
}
