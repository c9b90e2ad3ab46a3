import { createRouter, createWebHistory, type RouteRecordRaw } from "vue-router";

import ApprovalPage from "./pages/approvals/ApprovalPage.vue";
import ApprovalsPage from "./pages/approvals/ApprovalsPage.vue";
import HealthPage from "./pages/HealthPage.vue";
import NotFoundPage from "./pages/NotFoundPage.vue";

declare module "vue-router" {
  interface RouteMeta {
    /** Key of the page's name, filled with the route's parameters; the document title and the navigation use it. */
    titleKey: string;
    /** Only pages a person can start from are listed in the navigation. */
    inNavigation?: boolean;
    /** Path of the page in the navigation that this one belongs to. */
    section?: string;
  }
}

export const routes: RouteRecordRaw[] = [
  { path: "/", name: "health", component: HealthPage, meta: { titleKey: "health.title", inNavigation: true } },
  {
    path: "/approvals",
    name: "approvals",
    component: ApprovalsPage,
    meta: { titleKey: "approvals.title", inNavigation: true },
  },
  {
    path: "/approvals/:id(\\d+)",
    name: "approval",
    component: ApprovalPage,
    meta: { titleKey: "approvals.one", section: "/approvals" },
  },
  { path: "/:rest(.*)*", name: "not-found", component: NotFoundPage, meta: { titleKey: "notFound.title" } },
];

export const router = createRouter({
  history: createWebHistory(),
  routes,
  scrollBehavior: (_to, _from, saved) => saved ?? { top: 0 },
});
