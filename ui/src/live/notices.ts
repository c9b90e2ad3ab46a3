import { ref } from "vue";

export interface Notice {
  id: number;
  text: string;
}

const shownMilliseconds = 6_000;
const most = 4;
export const notices = ref<Notice[]>([]);
let count = 0;

/** Shows a sentence for a while. It never takes the focus. */
export function say(text: string): void {
  count += 1;
  const notice = { id: count, text };
  notices.value = [...notices.value.slice(-(most - 1)), notice];
  window.setTimeout(() => dismiss(notice.id), shownMilliseconds);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}
