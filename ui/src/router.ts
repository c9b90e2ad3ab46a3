import { createRouter, createWebHistory, type RouteRecordRaw } from "vue-router";

import HealthPage from "./pages/HealthPage.vue";
import NotFoundPage from "./pages/NotFoundPage.vue";

declare module "vue-router" {
  interface RouteMeta {
    /** Key of the page's name; the document title and the navigation both use it. */
    titleKey: string;
    /** Only pages a person can start from are listed in the navigation. */
    inNavigation?: boolean;
  }
}

export const routes: RouteRecordRaw[] = [
  { path: "/", name: "health", component: HealthPage, meta: { titleKey: "health.title", inNavigation: true } },
  { path: "/:rest(.*)*", name: "not-found", component: NotFoundPage, meta: { titleKey: "notFound.title" } },
];

export const router = createRouter({
  history: createWebHistory(),
  routes,
  scrollBehavior: (_to, _from, saved) => saved ?? { top: 0 },
});
