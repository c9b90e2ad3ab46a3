import { ref } from "vue";

const tickMilliseconds = 1_000;

/** One clock for every relative time on the page, so that they change together. */
export const now = ref(new Date());

window.setInterval(() => {
  if (document.visibilityState === "visible") now.value = new Date();
}, tickMilliseconds);
