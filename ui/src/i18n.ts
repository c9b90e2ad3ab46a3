import { watch } from "vue";
import { createI18n } from "vue-i18n";

import enWork from "./locales/en-work.json";
import en from "./locales/en.json";
import viWork from "./locales/vi-work.json";
import vi from "./locales/vi.json";
import { language } from "./settings/language";

export const i18n = createI18n({
  legacy: false,
  locale: language.value,
  fallbackLocale: "en",
  messages: { en: { ...en, ...enWork }, vi: { ...vi, ...viWork } },
});

watch(
  language,
  (chosen) => {
    i18n.global.locale.value = chosen;
    document.documentElement.lang = chosen;
  },
  { immediate: true },
);
