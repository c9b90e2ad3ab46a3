import { computed, onMounted, onUnmounted, ref, type Ref } from "vue";

/** The rows of a long list that are in view; every row has the same height. */
export function useWindow(frame: Ref<HTMLElement | null>, rowHeight: number, count: () => number) {
  const top = ref(0);
  const height = ref(800);
  const spare = 12;
  let observer: ResizeObserver | null = null;

  function measure(): void {
    const element = frame.value;
    if (!element) return;
    top.value = element.scrollTop;
    height.value = element.clientHeight;
  }

  onMounted(() => {
    if (!frame.value) return;
    frame.value.addEventListener("scroll", measure, { passive: true });
    observer = new ResizeObserver(measure);
    observer.observe(frame.value);
    measure();
  });
  onUnmounted(() => observer?.disconnect());

  const first = computed(() => Math.max(0, Math.floor(top.value / rowHeight) - spare));
  const last = computed(() => Math.min(count(), Math.ceil((top.value + height.value) / rowHeight) + spare));

  function reveal(index: number): void {
    const element = frame.value;
    if (!element) return;
    const y = index * rowHeight;
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + 2 * rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = y + 2 * rowHeight - element.clientHeight;
  }

  return { first, last, reveal, measure };
}
