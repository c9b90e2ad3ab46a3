import { watch } from "vue";
import { createI18n } from "vue-i18n";

import en from "./locales/en.json";
import vi from "./locales/vi.json";
import { language } from "./settings/language";

export const i18n = createI18n({
  legacy: false,
  locale: language.value,
  fallbackLocale: "en",
  messages: { en, vi },
});

watch(
  language,
  (chosen) => {
    i18n.global.locale.value = chosen;
    document.documentElement.lang = chosen;
  },
  { immediate: true },
);
