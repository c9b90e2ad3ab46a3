import { watch, type Ref } from "vue";

import type { Camera } from "./camera";

/**
 * Moves the layers of the graph with the camera, beside Vue: a pan changes one style of each layer and nothing else, so the
 * browser neither lays out nor paints, it only puts the layers elsewhere.
 */
export function useLayers(camera: Ref<Camera>, frame: Ref<HTMLElement | null>) {
  function apply(): void {
    const { x, y, zoom } = camera.value;
    for (const layer of frame.value?.querySelectorAll<HTMLElement>(":scope > [data-layer]") ?? []) {
      const kind = layer.dataset.layer;
      layer.style.transform =
        kind === "world" ? `translate(${x}px, ${y}px) scale(${zoom})` : kind === "rows" ? `translateY(${y}px)` : `translate(${x}px, ${y}px)`;
    }
  }

  watch(camera, apply, { flush: "sync" });
  return apply;
}
