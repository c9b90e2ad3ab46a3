// Which rectangles are in view: receives rectangles once, returns the numbers of those that meet a rectangle.

import type { Rect } from "./camera";

const cell = 512;
/** A long line would be in every cell it crosses; such ones are few and always looked at. */
const cellsMax = 64;

export class Grid {
  private readonly cells = new Map<number, number[]>();
  private readonly large: number[] = [];
  private readonly stamps: Uint32Array;
  private stamp = 0;

  constructor(private readonly rects: readonly Rect[]) {
    this.stamps = new Uint32Array(rects.length);
    rects.forEach((rect, index) => this.add(rect, index));
  }

  private add(rect: Rect, index: number): void {
    const [left, top, right, bottom] = spanOf(rect);
    if ((right - left + 1) * (bottom - top + 1) > cellsMax) {
      this.large.push(index);
      return;
    }
    for (let column = left; column <= right; column += 1)
      for (let row = top; row <= bottom; row += 1) {
        const key = column * 65536 + row;
        const found = this.cells.get(key);
        if (found) found.push(index);
        else this.cells.set(key, [index]);
      }
  }

  /** In ascending order, each once. */
  meeting(view: Rect): number[] {
    this.stamp += 1;
    const found = this.large.filter((index) => this.meets(index, view));
    const [left, top, right, bottom] = spanOf(view);
    for (let column = left; column <= right; column += 1)
      for (let row = top; row <= bottom; row += 1)
        for (const index of this.cells.get(column * 65536 + row) ?? []) {
          if (this.stamps[index] === this.stamp) continue;
          this.stamps[index] = this.stamp;
          if (this.meets(index, view)) found.push(index);
        }
    return found.sort((a, b) => a - b);
  }

  private meets(index: number, view: Rect): boolean {
    const rect = this.rects[index];
    return (
      rect !== undefined && rect.x <= view.x + view.width && rect.x + rect.width >= view.x &&
      rect.y <= view.y + view.height && rect.y + rect.height >= view.y
    );
  }
}

function spanOf(rect: Rect): [number, number, number, number] {
  const place = (value: number) => Math.max(0, Math.floor(value / cell));
  return [place(rect.x), place(rect.y), place(rect.x + rect.width), place(rect.y + rect.height)];
}
