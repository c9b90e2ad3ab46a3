import js from "@eslint/js";
import vue from "eslint-plugin-vue";
import ts from "typescript-eslint";

export default ts.config(
  { ignores: ["node_modules/", "dist/"] },
  js.configs.recommended,
  ...ts.configs.strict,
  ...vue.configs["flat/recommended"],
  {
    files: ["**/*.vue"],
    languageOptions: { parserOptions: { parser: ts.parser } },
  },
  {
    rules: {
      // The compiler checks names, with knowledge of browser globals that ESLint lacks.
      "no-undef": "off",
      eqeqeq: "error",
      "vue/block-order": ["error", { order: ["script", "template", "style"] }],
      "vue/no-v-html": "error",
      // Line breaks inside tags are layout, not meaning; the templates stay dense.
      "vue/max-attributes-per-line": "off",
      "vue/singleline-html-element-content-newline": "off",
      "vue/html-self-closing": "off",
    },
  },
);
