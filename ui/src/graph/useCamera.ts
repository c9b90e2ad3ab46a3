import { onMounted, onUnmounted, shallowRef, watch, type Ref } from "vue";

import { between, clamp, zoomAt, type Camera, type Size } from "./camera";

const wheelStep = 0.0015;
const wheelMost = 240;
const dragThreshold = 4;
const glideMilliseconds = 200;

/** Moves the camera by wheel, drag and pinch; at most one change of the picture in each frame. */
export function useCamera(frame: Ref<HTMLElement | null>, world: () => Size) {
  const camera = shallowRef<Camera>({ x: 0, y: 0, zoom: 1 });
  const view = shallowRef<Size>({ width: 0, height: 0 });
  let wanted = camera.value;
  let asked = 0;
  let glide = 0;
  /** Where a glide ends: the next step begins there, so that keys pressed quickly add up. */
  let goal: Camera | null = null;
  const pointers = new Map<number, { x: number; y: number }>();
  let moved = 0;
  let observer: ResizeObserver | null = null;

  function show(next: Camera): void {
    wanted = clamp(next, world(), view.value);
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      camera.value = wanted;
    });
  }

  function move(next: Camera): void {
    cancelAnimationFrame(glide);
    goal = null;
    show(next);
  }

  /** Moves there in 200 ms, at once for those who want no motion. */
  function glideTo(next: Camera): void {
    cancelAnimationFrame(glide);
    const [from, to] = [wanted, clamp(next, world(), view.value)];
    goal = null;
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) return show(to);
    goal = to;
    const begun = performance.now();
    const step = (now: number) => {
      const share = Math.min(1, Math.max(0, (now - begun) / glideMilliseconds));
      show(between(from, to, share));
      if (share < 1) glide = requestAnimationFrame(step);
      else goal = null;
    };
    glide = requestAnimationFrame(step);
  }

  function placeOf(event: MouseEvent): { x: number; y: number } {
    const box = frame.value?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
  }

  function onWheel(event: WheelEvent): void {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (event.shiftKey) return move({ ...wanted, x: wanted.x - (event.deltaX || event.deltaY) * lines });
    // A pinch on a touchpad is a wheel with Ctrl and small steps.
    const delta = Math.max(-wheelMost, Math.min(wheelMost, event.deltaY * lines)) * (event.ctrlKey ? 6 : 1);
    move(zoomAt(wanted, Math.exp(-delta * wheelStep), placeOf(event)));
  }

  function onPointerDown(event: PointerEvent): void {
    if (event.button !== 0) return;
    if (pointers.size === 0) moved = 0;
    pointers.set(event.pointerId, placeOf(event));
  }

  function onPointerMove(event: PointerEvent): void {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const here = placeOf(event);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    moved += Math.hypot(here.x - before.x, here.y - before.y);
    pointers.set(event.pointerId, here);
    if (moved < dragThreshold) return;
    frame.value?.setPointerCapture(event.pointerId);
    let next = { ...wanted, x: wanted.x + here.x - before.x, y: wanted.y + here.y - before.y };
    if (other) {
      const ratio = Math.hypot(here.x - other.x, here.y - other.y) / Math.hypot(before.x - other.x, before.y - other.y);
      if (Number.isFinite(ratio) && ratio > 0) next = zoomAt(wanted, ratio, other);
    }
    move(next);
  }

  function onPointerEnd(event: PointerEvent): void {
    pointers.delete(event.pointerId);
  }

  /** A click that ends a drag selects nothing. */
  function onClick(event: MouseEvent): void {
    if (moved < dragThreshold) return;
    moved = 0;
    event.stopPropagation();
    event.preventDefault();
  }

  onMounted(() => {
    const element = frame.value;
    if (!element) return;
    observer = new ResizeObserver(() => {
      view.value = { width: element.clientWidth, height: element.clientHeight };
    });
    observer.observe(element);
    view.value = { width: element.clientWidth, height: element.clientHeight };
    element.addEventListener("wheel", onWheel, { passive: false });
    element.addEventListener("pointerdown", onPointerDown);
    element.addEventListener("pointermove", onPointerMove);
    element.addEventListener("pointerup", onPointerEnd);
    element.addEventListener("pointercancel", onPointerEnd);
    element.addEventListener("click", onClick, { capture: true });
  });
  onUnmounted(() => {
    observer?.disconnect();
    cancelAnimationFrame(asked);
    cancelAnimationFrame(glide);
  });
  watch(view, () => show(wanted));

  return { camera, view, move, glideTo, target: () => goal ?? wanted };
}
