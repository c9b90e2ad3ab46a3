import { onMounted, onUnmounted } from "vue";

const typingTags = new Set(["INPUT", "TEXTAREA", "SELECT"]);

/** In text fields and while a dialog is open, the keys of the page are ignored. */
export function isForTyping(target: { tagName?: string; isContentEditable?: boolean } | null): boolean {
  return typingTags.has(target?.tagName ?? "") || target?.isContentEditable === true;
}

/** The keys of one page: name of the key → action. */
export function useKeys(keys: Record<string, () => unknown>): void {
  function onKey(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isForTyping(event.target as HTMLElement | null) || document.querySelector("dialog[open]")) return;
    // Enter on a button or a link is for that button or link.
    if (event.key === "Enter" && (event.target as HTMLElement | null)?.closest("button, a, summary")) return;
    const act = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
    if (!act) return;
    event.preventDefault();
    act();
  }

  onMounted(() => window.addEventListener("keydown", onKey));
  onUnmounted(() => window.removeEventListener("keydown", onKey));
}
