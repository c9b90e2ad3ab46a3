// The graph from afar: lines and boxes with the shape of their state on a canvas, no text.

import { stateIcon } from "../icons";
import type { Camera, Size } from "./camera";
import { seen } from "./camera";
import type { BoxFace } from "./faces";
import { pathOf, type Scene } from "./scene";

export interface FarLook {
  pair(tone: string): { fg: string; bg: string } | null;
  variable(name: string): string;
}

export interface FarLine {
  isCritical: boolean;
  isBehind: boolean;
}

/** Pictures of boxes, one for each look and zoom: drawing a copy costs a fraction of drawing strokes. */
export class FarView {
  private sprites = new Map<string, HTMLCanvasElement>();
  private zoom = 0;
  private paths = new Map<number, Path2D>();

  constructor(private readonly scene: Scene, private readonly look: FarLook) {}

  draw(canvas: HTMLCanvasElement, camera: Camera, view: Size, faceOf: (no: number) => BoxFace, lineOf: (at: number) => FarLine): void {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(view.width * ratio), Math.round(view.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext("2d");
    if (!context) return;
    if (this.zoom !== camera.zoom) {
      this.sprites.clear();
      this.zoom = camera.zoom;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    const area = seen(camera, view, 8);
    this.drawLines(context, camera, ratio, area, lineOf);
    context.setTransform(1, 0, 0, 1, 0, 0);
    for (const index of this.scene.boxGrid.meeting(area)) {
      const box = this.scene.boxes[index];
      if (!box) continue;
      const sprite = this.sprite(faceOf(box.no), box.width, box.height, ratio);
      context.drawImage(
        sprite,
        Math.round((box.x * camera.zoom + camera.x - 2) * ratio), Math.round((box.y * camera.zoom + camera.y - 2) * ratio),
      );
    }
  }

  private drawLines(
    context: CanvasRenderingContext2D, camera: Camera, ratio: number, area: ReturnType<typeof seen>, lineOf: (at: number) => FarLine,
  ): void {
    const [usual, behind, critical] = [new Path2D(), new Path2D(), new Path2D()];
    for (const index of this.scene.lineGrid.meeting(area)) {
      const line = lineOf(index);
      (line.isCritical ? critical : line.isBehind ? behind : usual).addPath(this.path(index));
    }
    context.setTransform(camera.zoom * ratio, 0, 0, camera.zoom * ratio, camera.x * ratio, camera.y * ratio);
    context.strokeStyle = this.look.variable("--edge");
    context.lineWidth = 1 / camera.zoom;
    context.stroke(usual);
    context.setLineDash([4 / camera.zoom, 3 / camera.zoom]);
    context.stroke(behind);
    context.setLineDash([]);
    context.strokeStyle = this.look.variable("--edge-strong");
    context.lineWidth = 2 / camera.zoom;
    context.stroke(critical);
  }

  private path(index: number): Path2D {
    let found = this.paths.get(index);
    if (!found) this.paths.set(index, (found = new Path2D(pathOf(this.scene.lines[index]?.points ?? [], 0))));
    return found;
  }

  private sprite(face: BoxFace, width: number, height: number, ratio: number): HTMLCanvasElement {
    const marks = [face.isDone, face.isSkipped, face.isCritical, face.isBehind, face.isHit].map(Number).join("");
    const key = `${face.tone}/${face.icon}/${marks}`;
    const known = this.sprites.get(key);
    if (known) return known;
    const sprite = document.createElement("canvas");
    const [w, h] = [width * this.zoom, height * this.zoom];
    sprite.width = Math.ceil((w + 4) * ratio);
    sprite.height = Math.ceil((h + 4) * ratio);
    const context = sprite.getContext("2d");
    if (context) {
      context.scale(ratio, ratio);
      context.translate(2, 2);
      this.box(context, face, w, h);
    }
    this.sprites.set(key, sprite);
    return sprite;
  }

  private box(context: CanvasRenderingContext2D, face: BoxFace, width: number, height: number): void {
    const pair = this.look.pair(face.tone) ?? { fg: this.look.variable("--text-quiet"), bg: this.look.variable("--surface-raised") };
    const shape = new Path2D();
    shape.roundRect(0.5, 0.5, width - 1, height - 1, Math.min(3, height / 4));
    context.globalAlpha = face.isDone && !face.isCritical ? 0.62 : 1;
    context.fillStyle = face.isSkipped ? this.look.variable("--surface") : pair.bg;
    context.fill(shape);
    if (face.isBehind) this.hatch(context, shape, width, height);
    context.globalAlpha = 1;
    context.strokeStyle = face.isHit
      ? this.look.variable("--accent")
      : this.look.variable(face.isCritical ? "--edge-strong" : "--border-strong");
    context.lineWidth = face.isHit ? 3 : face.isCritical ? 2 : 1;
    if (face.isSkipped) context.setLineDash([2, 2]);
    context.stroke(shape);
    context.setLineDash([]);
    const size = Math.max(6, height - 2);
    context.translate(1, (height - size) / 2);
    context.scale(size / 16, size / 16);
    context.strokeStyle = context.fillStyle = face.isSkipped ? this.look.variable("--text-quiet") : pair.fg;
    context.lineCap = context.lineJoin = "round";
    for (const stroke of stateIcon(face.icon)) {
      const path = new Path2D(stroke.d);
      context.lineWidth = (stroke.width ?? 1.5) + 0.5;
      if (stroke.filled) context.fill(path);
      context.stroke(path);
    }
  }

  private hatch(context: CanvasRenderingContext2D, shape: Path2D, width: number, height: number): void {
    context.save();
    context.clip(shape);
    context.strokeStyle = this.look.variable("--border-control");
    context.lineWidth = 1;
    context.beginPath();
    for (let x = -height; x < width; x += 4) {
      context.moveTo(x, height);
      context.lineTo(x + height, 0);
    }
    context.stroke();
    context.restore();
  }
}
