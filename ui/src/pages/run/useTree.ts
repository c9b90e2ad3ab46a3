import { computed, nextTick, ref, shallowRef, watch, type Ref } from "vue";

import { rowsOfTree, type TreeNode, type TreeRow } from "./stepTree";

export interface PlacedRow extends TreeRow {
  y: number;
}

/**
 * A tree as rows of one height, of which only those in view are in the page; the keys are those of a tree: up and down, right to
 * open and to go inside, left to close and to go out, home and end. One row is in the tab order.
 */
export function useTree(
  frame: Ref<HTMLElement | null>, rowHeight: number, tree: () => TreeNode[], selected: () => number | null, choose: (node: TreeNode) => void,
) {
  const turned = shallowRef<ReadonlySet<string>>(new Set());
  const rows = computed(() => rowsOfTree(tree(), turned.value));
  const top = ref(0);
  const height = ref(800);
  const spare = 10;
  const current = ref("");

  function onScroll(): void {
    top.value = frame.value?.scrollTop ?? 0;
    height.value = frame.value?.clientHeight ?? 800;
  }

  const currentKey = computed(() => {
    if (rows.value.some((row) => row.node.key === current.value)) return current.value;
    const chosen = rows.value.find((row) => row.node.step && row.node.step.no === selected());
    return (chosen ?? rows.value[0])?.node.key ?? "";
  });

  const shown = computed<PlacedRow[]>(() => {
    const first = Math.max(0, Math.floor(top.value / rowHeight) - spare);
    const last = Math.ceil((top.value + height.value) / rowHeight) + spare;
    const found = rows.value.slice(first, last).map((row, at) => ({ ...row, y: (first + at) * rowHeight }));
    // The row with the focus stays, so that the focus is never lost.
    const at = rows.value.findIndex((row) => row.node.key === currentKey.value);
    const here = rows.value[at];
    return here && (at < first || at >= last) ? [...found, { ...here, y: at * rowHeight }] : found;
  });

  function toggle(node: TreeNode): void {
    const next = new Set(turned.value);
    if (!next.delete(node.key)) next.add(node.key);
    turned.value = next;
  }

  async function focusAt(at: number): Promise<void> {
    const row = rows.value[Math.min(rows.value.length - 1, Math.max(0, at))];
    if (!row || !frame.value) return;
    current.value = row.node.key;
    reveal(rows.value.indexOf(row));
    await nextTick();
    [...frame.value.querySelectorAll<HTMLElement>("[data-key]")].find((found) => found.dataset.key === row.node.key)?.focus({ preventScroll: true });
  }

  function reveal(at: number): void {
    const element = frame.value;
    if (!element) return;
    const y = at * rowHeight + (element.querySelector<HTMLElement>("[role=tree]")?.offsetTop ?? 0);
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = y + rowHeight - element.clientHeight;
    onScroll();
  }

  function outside(at: number): number {
    const level = rows.value[at]?.level ?? 1;
    for (let above = at - 1; above >= 0; above -= 1) if ((rows.value[above]?.level ?? 0) < level) return above;
    return at;
  }

  function onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = (event.target as HTMLElement).closest<HTMLElement>("[data-key]")?.dataset.key;
    const at = rows.value.findIndex((row) => row.node.key === key);
    const row = rows.value[at];
    if (!row) return;
    if (event.key === "ArrowDown") void focusAt(at + 1);
    else if (event.key === "ArrowUp") void focusAt(at - 1);
    else if (event.key === "Home") void focusAt(0);
    else if (event.key === "End") void focusAt(rows.value.length - 1);
    else if (event.key === "ArrowRight" && row.isOpen === false) toggle(row.node);
    else if (event.key === "ArrowRight" && row.isOpen) void focusAt(at + 1);
    else if (event.key === "ArrowLeft" && row.isOpen) toggle(row.node);
    else if (event.key === "ArrowLeft") void focusAt(outside(at));
    else if (event.key === "Enter" || event.key === " ") press(row.node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function press(node: TreeNode): void {
    current.value = node.key;
    if (node.step) choose(node);
    else toggle(node);
  }

  watch(selected, (no) => {
    if (no !== null) current.value = rows.value.find((row) => row.node.step?.no === no)?.node.key ?? current.value;
  });

  return { rows, shown, currentKey, toggle, press, onKey, onScroll };
}
