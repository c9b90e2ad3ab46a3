import { computed, shallowRef, watch, type Ref } from "vue";

import { seen, type Camera, type Size } from "./camera";
import type { Scene } from "./scene";
import { Tiles, type Tile } from "./tiles";

const margin = 16;

/** The tiles around the view: another list only when a tile comes or goes. */
export function useTiles(scene: Ref<Scene>, camera: Ref<Camera>, view: Ref<Size>) {
  const all = computed(() => new Tiles(scene.value));
  const tiles = shallowRef<Tile[]>([]);

  function look(): void {
    const found = all.value.meeting(seen(camera.value, view.value, margin));
    const isSame = found.length === tiles.value.length && found.every((tile, at) => tile === tiles.value[at]);
    if (!isSame) tiles.value = found;
  }

  watch([camera, view, all], look, { immediate: true, flush: "sync" });

  function tileOf(no: number): Tile | null {
    const box = scene.value.boxOf.get(no);
    return box ? all.value.of(box) : null;
  }

  return { tiles, tileOf };
}
