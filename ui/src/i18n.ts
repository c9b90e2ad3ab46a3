import { watch } from "vue";
import { createI18n } from "vue-i18n";

import enConsole from "./locales/en-console.json";
import enGovernance from "./locales/en-governance.json";
import enWork from "./locales/en-work.json";
import en from "./locales/en.json";
import viConsole from "./locales/vi-console.json";
import viGovernance from "./locales/vi-governance.json";
import viWork from "./locales/vi-work.json";
import vi from "./locales/vi.json";
import { language } from "./settings/language";

export const i18n = createI18n({
  legacy: false,
  locale: language.value,
  fallbackLocale: "en",
  messages: { en: { ...en, ...enWork, ...enConsole, ...enGovernance, shell: { ...en.shell, ...enConsole.shell } }, vi: { ...vi, ...viWork, ...viConsole, ...viGovernance, shell: { ...vi.shell, ...viConsole.shell } } },
});

watch(
  language,
  (chosen) => {
    i18n.global.locale.value = chosen;
    document.documentElement.lang = chosen;
  },
  { immediate: true },
);
