// The graph in tiles: receives a scene, returns the tiles around the view. What is in a tile that stays is not touched by a pan.

import type { Rect } from "./camera";
import type { Scene, SceneBox } from "./scene";

export interface Tile extends Rect {
  key: string;
  boxes: SceneBox[];
  /** Numbers of the lines that cross it. */
  lines: number[];
}

export const tileWidth = 320;
export const tileHeight = 200;

export class Tiles {
  private readonly boxes = new Map<string, SceneBox[]>();
  private readonly made = new Map<string, Tile>();

  constructor(private readonly scene: Scene) {
    for (const box of scene.boxes) {
      const key = keyOf(box.x, box.y);
      const found = this.boxes.get(key);
      if (found) found.push(box);
      else this.boxes.set(key, [box]);
    }
  }

  /** A box belongs to the tile of its upper left corner, so those that begin before the view are looked at too. */
  meeting(view: Rect): Tile[] {
    const { width = 0, height = 0 } = this.scene.boxes[0] ?? {};
    const found: Tile[] = [];
    const [left, right] = [column(view.x - width), column(view.x + view.width)];
    const [top, bottom] = [row(view.y - height), row(view.y + view.height)];
    for (let at = left; at <= right; at += 1) for (let down = top; down <= bottom; down += 1) found.push(this.tile(at, down));
    return found;
  }

  of(box: SceneBox): Tile {
    return this.tile(column(box.x), row(box.y));
  }

  private tile(at: number, down: number): Tile {
    const key = `${at}/${down}`;
    let found = this.made.get(key);
    if (!found) {
      const rect = { x: at * tileWidth, y: down * tileHeight, width: tileWidth, height: tileHeight };
      found = { key, ...rect, boxes: this.boxes.get(key) ?? [], lines: this.scene.lineGrid.meeting(rect) };
      this.made.set(key, found);
    }
    return found;
  }
}

function column(x: number): number {
  return Math.max(0, Math.floor(x / tileWidth));
}

function row(y: number): number {
  return Math.max(0, Math.floor(y / tileHeight));
}

function keyOf(x: number, y: number): string {
  return `${column(x)}/${row(y)}`;
}
