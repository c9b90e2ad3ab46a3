// Sets theme and language before the first paint from what the person chose earlier.
// The rules are those of src/settings/theme.ts and language.ts; a test holds the two together.
(function () {
  function stored(key) {
    try {
      return window.localStorage.getItem(key);
    } catch {
      return null;
    }
  }
  function prefers(query) {
    return window.matchMedia(query).matches;
  }
  var root = document.documentElement;
  var theme = stored("stepwell.theme");
  if (theme !== "light" && theme !== "dark" && theme !== "contrast") {
    theme = prefers("(prefers-contrast: more)") ? "contrast" : prefers("(prefers-color-scheme: dark)") ? "dark" : "light";
  }
  root.dataset.theme = theme;
  var language = stored("stepwell.language");
  if (language !== "en" && language !== "vi") {
    language = (navigator.language || "en").toLowerCase().indexOf("vi") === 0 ? "vi" : "en";
  }
  root.lang = language;
})();
